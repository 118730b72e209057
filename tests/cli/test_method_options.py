"""A command line and a config file can name methods and networks of llpgan, and nothing else."""

import re
import subprocess
import sys

import pytest
from sklearn.utils._param_validation import StrOptions

import llpgan
from llpgan.cli import main
from llpgan.cli.options import collect_settings, make_method, method_class, method_setting, plain_setting
from llpgan.deep.networks import mlp_classifier
from llpgan.methods import METHODS
from tests.cli.test_main import FIT, files  # noqa: F401, a fixture

EVIL = "from pathlib import Path\nPath('ran').touch()\nclass Thing:\n    pass\ndef make(*_):\n    pass\n"
CONFIGS = {
    "method": "method: {class_path: evil.Thing}",
    "name": "method: evil.Thing",
    "this": "method: {class_path: this.X}",
    "inherited": "method: {class_path: llpgan.methods.base.LLPClassifier}",
    "classifier": "method: {class_path: DLLP, init_args: {classifier: evil.make}}",
    "nested": "method: {class_path: DLLP, init_args: {classifier: {class_path: evil.Thing}}}",
    "loss": "method: {class_path: DLLP, init_args: {proportion_loss: {class_path: evil.Thing}}}",
    "start": "method: {class_path: AlternatingMeanMap, init_args: {start: {class_path: evil.Thing}}}",
    "dict_kwargs": "method: {class_path: DLLP, dict_kwargs: {x: {class_path: evil.Thing}}}",
    "columns": "columns: {class_path: evil.Thing}",
    "proportions": "proportions: {class_path: evil.Thing}",
    "tag": "method: !!python/object/apply:os.system [touch ran]",
    "label": "label: !!python/name:evil.make ''",
}
OPTIONS = [
    ["--method", "evil.Thing"],
    ["--method", "this.s"],
    ["--method", "{class_path: evil.Thing}"],
    ["--method", "DLLP", "--method.classifier", "evil.make"],
    ["--method", "DLLP", "--method.classifier.class_path", "evil.Thing"],
    ["--method", "LLPGAN", "--method.generator", "evil.make"],
    ["--method", "DLLP", "--method.class_path", "evil.Thing"],
    ["--method", "DLLP", "--method.dict_kwargs", "{x: evil.make}"],
    ["--method", "AlternatingMeanMap", "--method.start", "evil.Thing"],
    ["--method.help", "evil.Thing"],
    ["--columns", "evil.Thing"],
    ["--columns.help", "evil.Thing"],
]


@pytest.fixture
def evil(files, monkeypatch):  # noqa: F811
    """A module that leaves a mark where it is imported, in the working folder, which is on the path."""
    (files / "evil.py").write_text(EVIL)
    monkeypatch.syspath_prepend(str(files))
    monkeypatch.delitem(sys.modules, "evil", raising=False)
    monkeypatch.delitem(sys.modules, "this", raising=False)
    return files


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_config_file_imports_nothing_that_is_not_ours(evil, capsys, config):
    (evil / "config.yaml").write_text(config + "\n")
    assert main.main([*FIT[:-2], "--config", "config.yaml"]) in (1, 2)
    assert "error: " in capsys.readouterr().err
    assert not {"evil", "this"} & sys.modules.keys()
    assert not (evil / "ran").exists()


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_an_option_imports_nothing_that_is_not_ours(evil, capsys, options):
    command = ["fit", *options] if options[0] == "--method.help" else [*FIT[:-2], *options]
    assert main.main(command) == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert "error: " in said
    assert not {"evil", "this"} & sys.modules.keys()


@pytest.mark.parametrize("kind", ["proportion_loss", "noise", "generator_loss"])
def test_a_function_by_its_path_is_only_a_name_that_no_method_knows(evil, capsys, kind):
    assert main.main([*FIT[:-1], "LLPGAN", f"--method.{kind}", "evil.make"]) == 1
    assert f"The '{kind}' parameter of LLPGAN must be" in capsys.readouterr().err
    assert "evil" not in sys.modules


@pytest.mark.parametrize("methods", ["evil.Thing", "[{class_path: evil.Thing}]", "MeanMap,evil.Thing"])
def test_compare_imports_nothing_that_is_not_ours(evil, capsys, methods):
    assert main.main(["compare", *FIT[1:-2], "--methods", methods]) == 2
    assert "there is no method" in capsys.readouterr().err
    (evil / "config.yaml").write_text("methods: [{class_path: evil.Thing}]\n")
    assert main.main(["compare", *FIT[1:-2], "--config", "config.yaml"]) == 2
    assert "evil" not in sys.modules


@pytest.mark.slow
def test_a_module_in_the_working_folder_is_not_run(evil):
    for options in (["--method", "evil.Thing"], ["--method", "DLLP", "--method.classifier", "evil.make"]):
        command = [sys.executable, "-m", "llpgan", *FIT[:-2], *options]
        done = subprocess.run(command, capture_output=True, text=True, cwd=evil)
        assert done.returncode == 2
        assert not (evil / "ran").exists()


def test_methods_and_networks_of_ours_are_found_by_name():
    assert type(make_method(method_setting("llpgan.DLLP"))) is llpgan.DLLP
    assert type(make_method(method_setting("llpgan.methods.dllp.DLLP"))) is llpgan.DLLP
    model = make_method({"class_path": "DLLP", "init_args": {"classifier": "mlp_classifier", "betas": [0.5, 0.9]}})
    assert model.classifier is mlp_classifier
    assert model.betas == (0.5, 0.9)
    nested = method_setting({"class_path": "AlternatingMeanMap", "init_args": {"start": "LaplacianMeanMap"}})
    assert type(make_method(nested).start) is llpgan.LaplacianMeanMap


@pytest.mark.parametrize(
    ("method", "name", "given", "read"),
    [
        ("DLLP", "epochs", "5", 5),
        ("DLLP", "learning_rate", "1e-3", 1e-3),
        ("DLLP", "learning_rate", "null", None),
        ("DLLP", "betas", "0.5,0.99", [0.5, 0.99]),
        ("DLLP", "verbose", "no", False),
        ("DLLP", "activation", "relu", "relu"),
        ("DLLP", "random_state", "7", 7),
        ("InvCal", "gamma", "0.5", 0.5),
        ("InvCal", "gamma", "auto", "auto"),
        ("InvCal", "kernel", "rbf", "rbf"),
    ],
)
def test_a_setting_is_read_by_its_type(method, name, given, read):
    assert plain_setting(method, name, given) == read
    assert plain_setting(method, name, read) == read


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("epochs", "many", "epochs should be a whole number, not 'many'"),
        ("epochs", "2.5", "epochs should be a whole number, not '2.5'"),
        ("entropy_weight", None, "entropy_weight cannot be nothing"),
        ("betas", "0.5", "betas should be numbers, as 0.5,0.5, not '0.5'"),
        ("classifier", "mine", "classifier should be one of cifar_classifier, "),
    ],
)
def test_a_setting_of_another_type_is_refused_with_a_message(name, given, message):
    with pytest.raises(ValueError, match=message):
        plain_setting("DLLP", name, given)


@pytest.mark.parametrize("words", [["--method.help", "LLPGAN"], ["people.csv", "--method.help=LLPGAN"]])
def test_the_help_on_a_method_is_short_and_of_its_settings(capsys, words):
    assert main.main(["fit", *words]) == 0
    said = capsys.readouterr().out
    assert len(said.splitlines()) <= 110
    assert all(f"--method.{name}" in said for name in ("generator_loss", "epochs", "validation_fraction"))
    assert said.index("--method.generator_loss") < said.index("--method.epochs")
    assert "torch" not in said


@pytest.mark.parametrize("method", METHODS)
def test_help_lists_the_settings_of_every_method(capsys, method):
    assert main.main(["fit", "--method.help", method]) == 0
    said = capsys.readouterr().out
    assert all(f"--method.{name}" in said for name in collect_settings(method))


@pytest.mark.parametrize("method", METHODS)
def test_the_help_on_a_method_lists_the_names_that_a_setting_can_have(capsys, method):
    assert main.main(["fit", "--method.help", method]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for setting, allowed in method_class(method)._parameter_constraints.items():
        _, _, told = said.partition(f"--method.{setting} ")
        told, _, _ = told.partition("--method.")
        for names in (constraint.options for constraint in allowed if isinstance(constraint, StrOptions)):
            assert all(re.search(rf"\b{name}\b", told) for name in names), setting


def test_help_lists_the_names_that_a_setting_takes(capsys):
    assert main.main(["fit", "--method.help", "LLPGAN"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "One or several of entropy, self_training, smoothness." in said
    assert "The loss of a bag. One of assignment, counts, dsq, easyllp, exact, moments, transport." in said


def test_settings_of_a_config_file_and_of_the_command_line_meet(files):  # noqa: F811
    (files / "config.yaml").write_text(
        "method:\n  class_path: BagLogistic\n  init_args: {C: 5.0, n_resamples: 3}\n"
    )
    options = ["--config", "config.yaml", "--method.n_resamples", "2", "--report", "false"]
    assert main.main([*FIT[:-2], *options]) == 0
    model = llpgan.load("model")
    assert (model.C, model.n_resamples) == (5.0, 2)
