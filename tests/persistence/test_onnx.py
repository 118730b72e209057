"""An exported model predicts what the model itself predicts, for every method and kind of input."""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from PIL import Image
from sklearn.base import clone
from sklearn.metrics.pairwise import KERNEL_PARAMS
from torch import nn

import llpgan
from llpgan import DLLP, Bags, Columns, ConvSVM, InvCal, MeanMap, load, save
from llpgan.cli.main import main
from llpgan.methods import METHODS
from llpgan.methods.linear import Linear, Sigmoid
from llpgan.persistence.graphs import KERNELS, Graph, table_instances
from llpgan.persistence.onnx import to_onnx
from llpgan.tables import TableEncoder, open_rows
from tests.test_import import python

pytestmark = pytest.mark.slow  # many seconds together

QUICK = {"random_state": 0, "epochs": 2, "n_restarts": 0, "max_cuts": 3, "n_resamples": 3}
each_method = pytest.mark.parametrize(
    "method",
    [pytest.param(m, marks=[pytest.mark.slow] * hasattr(getattr(llpgan, m)(), "precision")) for m in METHODS],
)


def people(n_rows, n_classes, seed):
    """Numbers and dates with gaps, a category with rare values and gaps, one of numbers, and a boolean."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, n_classes, n_rows)
    cities = np.array(["Rome", "Oslo", "Zürich"])[np.where(rng.random(n_rows) < 0.7, label, 1)]
    cities[rng.random(n_rows) < 0.06] = "rare"
    days = np.datetime64("2020-01-01") + (rng.integers(0, 300, n_rows) + 60 * label)
    return {
        "age": with_gaps(rng, rng.normal(40 + 6 * label, 5)),
        "income, per year": (1e6 + 1000 * label + rng.normal(0, 1500, n_rows)).tolist(),
        "city": with_gaps(rng, cities),
        "zone": rng.integers(1, 4, n_rows).tolist(),
        "joined": with_gaps(rng, days.astype("datetime64[D]")),
        "member": (rng.random(n_rows) < 0.3 + 0.2 * label).tolist(),
        "bag": (np.arange(n_rows) // 8).tolist(),
        "label": np.array(["no", "yes", "none"])[label].tolist(),
    }


def with_gaps(rng, values):
    gaps = rng.random(len(values)) < 0.15
    return [None if gap else value for gap, value in zip(gaps, values.tolist(), strict=True)]


def fed(table):
    """A table as onnxruntime takes it."""
    doubles = ("age", "income, per year", "member")
    joined = np.array(table["joined"], dtype="datetime64[D]")
    return {
        **{name: np.array(table[name], dtype=np.float64) for name in doubles},
        "city": np.array([city or "" for city in table["city"]]),
        "zone": np.array([str(zone) for zone in table["zone"]]),
        "joined": np.where(np.isnat(joined), np.nan, joined.astype(np.float64)),
    }


def new_people(n_rows, n_classes):
    table = people(n_rows, n_classes, seed=1)
    table["city"][0], table["zone"][0], table["age"][0] = "never seen", 9, None
    return table


def quick(name):
    model = getattr(llpgan, name)()
    return model.set_params(**{k: v for k, v in QUICK.items() if k in model.get_params()})


def trained(model, n_classes=2):
    table = people(160, n_classes, seed=0)
    columns = Columns(categories=["zone"], min_count=20)
    return clone(model).fit_bags(Bags.from_tables(table, bag="bag", label="label", columns=columns))


def ran(exported, inputs):
    return onnxruntime.InferenceSession(exported.SerializeToString()).run(["probabilities", "prediction"], inputs)


def assert_same(model, rows, inputs):
    exported = to_onnx(model)
    for n_rows in (1, len(next(iter(inputs.values())))):
        probabilities, prediction = ran(exported, {name: values[:n_rows] for name, values in inputs.items()})
        part = rows[:n_rows] if isinstance(rows, np.ndarray) else {k: v[:n_rows] for k, v in rows.items()}
        np.testing.assert_allclose(probabilities, model.predict_proba(part), rtol=0, atol=1e-5)
        np.testing.assert_array_equal(prediction, model.predict(part))
    return exported


@each_method
@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_go_in_as_they_come(method, n_classes, tmp_path):
    save(trained(quick(method), n_classes), tmp_path / "model")
    table = new_people(60, n_classes)
    exported = assert_same(load(tmp_path / "model"), table, fed(table))
    assert {value.name for value in exported.graph.input} == fed(table).keys()
    assert {dim.dim_param for value in exported.graph.input for dim in value.type.tensor_type.shape.dim} == {
        "rows"
    }


@pytest.mark.parametrize("min_count", [1, 20, 1000])
def test_preprocessing_is_the_same_to_the_last_bit(min_count):
    """With and without features for rare and missing values."""
    columns = Columns(categories=["zone"], min_count=min_count)
    encoder = TableEncoder.learn(open_rows(people(160, 3, 0)).table, columns, ["bag", "label"])
    graph = Graph(reserved=[column.name for column in encoder.columns])
    graph.output("encoded", "float32", table_instances(graph, encoder), (len(encoder.features),))
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString())
    table = new_people(60, 3)
    np.testing.assert_array_equal(session.run(None, fed(table))[0], encoder.encode(open_rows(table)))


def test_an_empty_text_that_was_learned_is_a_category():
    table = {"text": ["", "a", "a"] * 8, "bag": np.arange(24) // 4, "label": np.arange(24) % 5 // 2}
    columns = Columns(categories=["text"], min_count=1)
    model = MeanMap().fit_bags(Bags.from_tables(table, bag="bag", label="label", columns=columns))
    assert_same(model, {"text": ["", "a"]}, {"text": np.array(["", "a"])})


def test_names_of_columns_do_not_clash_with_names_inside():
    table = {name: np.random.default_rng(i).normal(size=40) for i, name in enumerate(["/1", "//2", "instances"])}
    more = {"bag": np.arange(40) // 4, "label": np.arange(40) % 3}
    model = MeanMap().fit_bags(Bags.from_tables(table | more, bag="bag", label="label"))
    assert_same(model, table, table)


@pytest.mark.parametrize("name", ["prediction", "probabilities"])
def test_a_column_with_the_name_of_an_output_is_refused(name):
    table = {name: np.arange(40.0) ** 2, "bag": np.arange(40) // 4, "label": np.arange(40) % 3}
    model = MeanMap().fit_bags(Bags.from_tables(table, bag="bag", label="label"))
    with pytest.raises(ValueError, match=f"column '{name}' cannot be an input"):
        to_onnx(model)


NYSTROM = ConvSVM(n_components=20, max_cuts=1, random_state=0)


@pytest.mark.parametrize("kernel", KERNEL_PARAMS)
@pytest.mark.parametrize(("model", "n_classes"), [(InvCal(), 2), (InvCal(), 3), (NYSTROM, 2)], ids=str)
def test_kernels(model, n_classes, kernel):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, 60)
    instances = np.abs(rng.normal(size=(60, 3)) + 2 * np.eye(3)[labels])
    instances[0] = 0
    model = clone(model).set_params(kernel=kernel, degree=2, coef0=0.5, standardize="chi2" not in kernel)
    model.fit(instances, labels, groups=np.arange(60) // 6)
    assert_same(model, 1.3 * instances, {"instances": 1.3 * instances})


def test_every_named_kernel_is_known():
    assert KERNELS.keys() == KERNEL_PARAMS.keys()


@pytest.mark.parametrize("model", [InvCal(), ConvSVM(max_cuts=1)], ids=lambda model: type(model).__name__)
def test_a_kernel_of_the_users_own_is_refused(model, blobs):
    instances, labels, groups = blobs
    model = clone(model).set_params(kernel=lambda a, b: a @ b.T).fit(instances, labels, groups=groups)
    with pytest.raises(ValueError, match="the kernel is a function of your own, which cannot be exported"):
        to_onnx(model)


def test_far_from_all_classes_the_likeliest_is_still_predicted():
    """Each class has a probability near zero against the others; onnxruntime's own sigmoid says zero of all."""
    rng = np.random.default_rng(0)
    instances, labels = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    model = InvCal().fit(instances, labels, groups=np.arange(60) // 6)
    model.binary_ = [Sigmoid(Linear(binary.model.weights, np.array([-60.0]))) for binary in model.binary_]
    assert_same(model, instances, {"instances": instances})


@pytest.mark.parametrize(
    ("trained_on", "wanted"),
    [
        ("uint8", "uint8"),
        ("float32", "float32"),
        ("float64", "float64"),
        ("int32", "float64"),
        ("bool", "float64"),
    ],
)
def test_arrays_come_in_the_type_of_the_training(trained_on, wanted, blobs):
    instances, labels, groups = blobs
    instances = np.abs(10 * instances).astype(int).clip(0, 1 if trained_on == "bool" else None).astype(trained_on)
    model = MeanMap().fit(instances, labels, groups=groups)
    assert_same(model, instances, {"instances": instances.astype(wanted)})


@pytest.mark.slow
def test_a_network_on_arrays_has_no_path_of_the_machine_inside(blobs):
    instances, labels, groups = blobs
    exported = assert_same(
        quick("DLLP").fit(instances, labels, groups=groups), instances, {"instances": instances}
    )
    content = exported.SerializeToString()
    for module in (llpgan, torch):
        assert str(Path(module.__file__).parent).encode() not in content
    assert b".py" not in content


@pytest.mark.parametrize("method", ["MeanMap", pytest.param("DLLP", marks=pytest.mark.slow)])
def test_images(method, tmp_path):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (24, 9, 8), dtype=np.uint8)
    for i, image in enumerate(pixels):
        path = tmp_path / "images" / f"bag{i // 6}" / f"{i:02}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    shares = {"folder": [f"bag{i}" for i in range(4)], "cat": [0.1, 0.9, 0.4, 0.3], "dog": [0.9, 0.1, 0.6, 0.7]}
    model = quick(method).fit_bags(Bags.from_tables(str(tmp_path / "images"), shares))
    save(model, tmp_path / "model")
    assert_same(load(tmp_path / "model"), pixels[:, None], {"instances": pixels[:, None]})


class LooksAtValues(nn.Module):
    """What it does depends on values, which a graph cannot follow."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 2)

    def forward(self, instances):
        instances = 2 * instances if float(instances.sum()) > 0 else instances
        return self.head(instances), instances


@pytest.mark.slow
def test_a_network_that_torch_cannot_export_is_refused(blobs):
    instances, labels, groups = blobs
    model = DLLP(classifier=LooksAtValues(), epochs=1).fit(instances, labels, groups=groups)
    with pytest.raises(ValueError, match="torch cannot export the classifier: Could not guard"):
        to_onnx(model)


def test_the_file_describes_itself():
    exported = to_onnx(trained(MeanMap()))
    told = {entry.key: entry.value for entry in exported.metadata_props}
    assert told == {"method": "MeanMap", "llpgan": llpgan.__version__, "classes": json.dumps(["no", "yes"])}
    assert {opset.domain: opset.version for opset in exported.opset_import} == {"": 18, "ai.onnx.ml": 3}
    what = {value.name: value.doc_string for value in exported.graph.input}
    assert what["city"] == 'a category; "" is missing'


@pytest.mark.slow
def test_a_method_without_a_network_is_exported_without_torch():
    fit = "to_onnx(MeanMap().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]))"
    code = f"import sys; from llpgan import MeanMap; from llpgan.persistence.onnx import to_onnx; {fit}"
    assert python(f"{code}; print('torch' in sys.modules)") == "False"


def test_without_the_packages_it_says_what_to_install(monkeypatch, bags):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"^ONNX is not installed: pip install 'llpgan\[onnx\]'$"):
        to_onnx(MeanMap().fit_bags(bags))


def test_the_command_exports_a_model_that_predicts_the_same(tmp_path, capsys):
    model = trained(MeanMap())
    save(model, tmp_path / "model")
    command = ["export", "onnx", str(tmp_path / "model"), "--out", str(tmp_path / "model.onnx")]
    assert main(command) == 0
    table = new_people(10, 2)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    np.testing.assert_allclose(session.run(None, fed(table))[0], model.predict_proba(table), rtol=0, atol=1e-5)
    assert main(command) == 1
    assert "model.onnx exists" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0


def test_an_output_that_exists_is_refused_before_the_model_is_looked_for(tmp_path, capsys):
    (tmp_path / "model.onnx").write_text("mine")
    assert main(["export", "onnx", str(tmp_path / "none"), "--out", str(tmp_path / "model.onnx")]) == 1
    assert "model.onnx exists" in capsys.readouterr().err
    assert (tmp_path / "model.onnx").read_text() == "mine"
