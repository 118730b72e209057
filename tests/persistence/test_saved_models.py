import json
import resource
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import llpgan
from llpgan import (
    DLLP,
    LLPGAN,
    AlternatingMeanMap,
    Bags,
    InvCal,
    LaplacianMeanMap,
    MarginalLogistic,
    MeanMap,
    load,
    save,
)
from llpgan.deep.networks import mlp_classifier, mnist_classifier
from llpgan.methods import METHODS
from llpgan.persistence.model import Manifest
from llpgan.tables import MarginalTables
from llpgan.tables.encode import ValueEncoder
from llpgan.utils.json_files import _content_digest, digest_of_file

pytestmark = pytest.mark.filterwarnings("ignore:column 'seen' is used as categories")
PEOPLE = {
    "state": ["Ohio", "Iowa", "Utah", "Ohio", "Iowa", "Utah"] * 8,
    "age": [20, 61, None, 35, 72, 48] * 8,
    "city": ["Rome", "Oslo", None, "Rome", "Bonn", "Oslo"] * 8,
    "seen": ["2016-11-08", "2016-01-01", "2015-03-01", "2016-02-02", "2014-05-05", None] * 8,
}
PAIRED = {name: PEOPLE[name] for name in ("state", "city", "seen")}
RESULTS = {"state": ["Iowa", "Ohio", "Utah"], "no": [0.2, 0.7, 0.5], "yes": [0.8, 0.3, 0.5]}


@pytest.fixture
def people_bags():
    return Bags.from_tables(PEOPLE, RESULTS, bag="state")


@pytest.fixture
def saved(tmp_path, people_bags):
    save(MeanMap().fit_bags(people_bags), tmp_path / "model")
    return tmp_path / "model"


def quick(name):
    settings = {"random_state": 0, "epochs": 2, "n_restarts": 1, "n_resamples": 3}
    model = getattr(llpgan, name)()
    return model.set_params(**{k: v for k, v in settings.items() if k in model.get_params()})


@pytest.mark.parametrize("name", METHODS)
def test_every_method_predicts_the_same_when_loaded(name, tmp_path, people_bags):
    model = quick(name).fit_bags(people_bags)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(PEOPLE), model.predict_proba(PEOPLE))
    np.testing.assert_array_equal(loaded.predict(PEOPLE), model.predict(PEOPLE))
    assert loaded.get_params() == model.get_params()


@pytest.mark.parametrize(
    "start", [LaplacianMeanMap(gamma=3.0), InvCal(kernel="rbf"), DLLP(epochs=1, random_state=0)]
)
def test_an_estimator_within_an_estimator_is_saved(start, tmp_path, bags):
    model = AlternatingMeanMap(start=AlternatingMeanMap(start=start)).fit_bags(bags)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(bags.instances), model.predict_proba(bags.instances))
    assert repr(loaded.start) == repr(model.start)
    assert loaded.start.start.get_params() == start.get_params()


def test_an_estimator_within_an_estimator_that_holds_own_code_is_given_again(tmp_path, bags):
    start = LaplacianMeanMap(similarity=lambda means: np.ones((len(means), len(means))))
    save(AlternatingMeanMap(start=start).fit_bags(bags), tmp_path / "model")
    with pytest.raises(ValueError, match=r"its start is code of your own: load\(..., start=...\)"):
        load(tmp_path / "model")
    assert load(tmp_path / "model", start=start).predict(bags.instances).shape == (80,)


@pytest.mark.parametrize("name", ["InvCal", "AlterSVM", "ConvSVM"])
def test_kernels_are_saved(name, tmp_path, bags):
    model = quick(name).set_params(kernel="rbf").fit_bags(bags)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").predict_proba(bags.instances), model.predict_proba(bags.instances)
    )


def test_a_loaded_generator_makes_the_same_samples(tmp_path, bags):
    model = LLPGAN(random_state=0, epochs=1).fit_bags(bags)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(
        load(tmp_path / "model").sample(3, random_state=1), model.sample(3, random_state=1)
    )


def test_images_and_a_named_network(tmp_path, rng):
    images = rng.integers(256, size=(12, 1, 8, 8), dtype=np.uint8)
    model = DLLP(random_state=0, epochs=1, classifier=mnist_classifier).fit(images, np.arange(12) % 3)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.classifier is mnist_classifier
    np.testing.assert_array_equal(loaded.predict_proba(images), model.predict_proba(images))


def test_loading_leaves_random_numbers_alone(tmp_path, bags):
    save(DLLP(random_state=0, epochs=1).fit_bags(bags), tmp_path / "model")
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    load(tmp_path / "model")
    assert torch.rand(1) == expected


def test_a_network_of_the_users_own_is_given_again(tmp_path, bags):
    own = mlp_classifier((3,), 2, hidden=(4,))
    model = DLLP(random_state=0, epochs=1, classifier=own).fit_bags(bags)
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match=r"its classifier is code of your own: load\(\.\.\., classifier=\.\.\.\)"):
        load(tmp_path / "model")
    loaded = load(tmp_path / "model", classifier=own)
    np.testing.assert_array_equal(loaded.predict_proba(bags.instances), model.predict_proba(bags.instances))


def test_a_kernel_of_the_users_own_cannot_be_saved(tmp_path, bags):
    model = InvCal(kernel=np.inner).fit_bags(bags)
    with pytest.raises(TypeError, match="code of your own"):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_class_names_keep_their_type(tmp_path, blobs):
    instances, labels, groups = blobs
    for number, names in enumerate((labels, labels == 1, np.array(["no", "yes"])[labels])):
        model = MeanMap().fit(instances, names, groups=groups)
        save(model, tmp_path / f"model{number}")
        loaded = load(tmp_path / f"model{number}")
        assert loaded.classes_.dtype == model.classes_.dtype
        np.testing.assert_array_equal(loaded.classes_, model.classes_)


def test_what_a_person_reads_is_json(saved):
    content = json.loads((saved / "model.json").read_text())
    assert content["method"] == "MeanMap"
    assert content["classes"] == ["no", "yes"]
    assert content["settings"]["standardize"] is True


def test_a_loaded_model_can_be_cloned_and_trained_again(saved, people_bags):
    again = clone(load(saved)).fit_bags(people_bags)
    np.testing.assert_array_equal(again.predict_proba(PEOPLE), load(saved).predict_proba(PEOPLE))


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        save(MeanMap(), tmp_path / "model")


def test_an_existing_folder_is_replaced_only_with_overwrite(saved, people_bags):
    with pytest.raises(FileExistsError, match="model exists"):
        save(InvCal().fit_bags(people_bags), saved)
    assert type(load(saved)).__name__ == "MeanMap"
    save(InvCal().fit_bags(people_bags), saved, overwrite=True)
    assert type(load(saved)).__name__ == "InvCal"


@pytest.mark.parametrize("name", METHODS)
def test_a_flipped_byte_anywhere_is_refused(name, tmp_path, bags, rng):
    save(quick(name).fit_bags(bags), tmp_path / "model")
    for path in (tmp_path / "model" / "model.json", tmp_path / "model" / "weights.safetensors"):
        content = path.read_bytes()
        for place in {0, len(content) // 2, len(content) - 2, *rng.integers(len(content) - 1, size=5).tolist()}:
            flipped = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
            if path.suffix == ".json" and _says_the_same(flipped, content):
                continue
            path.write_bytes(flipped)
            with pytest.raises(ValueError, match=path.name):
                load(tmp_path / "model")
        path.write_bytes(content)
    load(tmp_path / "model")


def _says_the_same(one, other):
    """As does the seventeenth digit of a number that is the same as another's."""
    try:
        return json.loads(one) == json.loads(other)
    except ValueError:
        return False


def test_truncated_and_missing_files_are_refused_by_name(saved):
    for path in (saved / "model.json", saved / "weights.safetensors"):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(ValueError, match=f"{path.name} is damaged"):
            load(saved)
        path.unlink()
        with pytest.raises(FileNotFoundError, match=path.name):
            load(saved)
        path.write_bytes(content)


def test_what_is_no_model_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere is not a saved model: there is no such folder"):
        load(tmp_path / "nowhere")
    (tmp_path / "people.csv").write_text("state,age\n")
    with pytest.raises(FileNotFoundError, match=r"people\.csv is not a saved model: it is a file"):
        load(tmp_path / "people.csv")
    with pytest.raises(FileNotFoundError, match=r"is not a saved model: it has no model\.json"):
        load(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "3", '"model"', "{}", '{"digest": 1, "format": 1}'])
def test_a_manifest_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(ValueError, match=r"model\.json is damaged"):
        load(tmp_path)


def rewritten(folder, **changes):
    """The manifest with other content, and digests that are right: as someone who means harm would write it."""
    content = json.loads((folder / "model.json").read_text())
    content.pop("digest")
    content |= changes
    content["files"] = {name: digest_of_file(folder / name) for name in content["files"]}
    write_manifest(folder, content)


def write_manifest(folder, content):
    (folder / "model.json").write_text(json.dumps({**content, "digest": _content_digest(content)}))


def nested(depth):
    return [] if depth == 0 else [nested(depth - 1)]


NUMBER = {
    "type": "Number",
    "dict": {"name": "age", "median": 1.0, "mean": 1.0, "scale": 1.0, "tells_missing": False},
}
LINEAR = {"type": "Linear", "dict": {"weights": {"array": "0"}, "intercept": {"array": "1"}}}
OTHER_SHAPES = {
    "method a number": {"method": 3},
    "method a list": {"method": ["MeanMap"]},
    "another method": {"method": "DLLP"},
    "settings a list": {"settings": []},
    "settings unknown": {"settings": {"colour": "red"}},
    "settings of another type": {"settings": {"standardize": "perhaps"}},
    "settings of the training": {"method": "DLLP", "settings": {"checkpoint": "/etc/passwd"}},
    "a network that is none": {"method": "DLLP", "settings": {"classifier": {"network": "os.system"}}},
    "a network without a name": {"method": "DLLP", "settings": {"classifier": {}}},
    "own a text": {"own": "classifier"},
    "own numbers": {"own": [1]},
    "classes none": {"classes": []},
    "classes a text": {"classes": "no"},
    "classes lists": {"classes": [["no"], ["yes"]]},
    "one class more": {"classes": ["no", "yes", "perhaps"]},
    "classes of another type": {"class_type": "<f8"},
    "a type that is none": {"class_type": "nonsense"},
    "a type with fields": {"class_type": "i4,U3"},
    "shape a number": {"shape": 5},
    "shape none": {"shape": []},
    "shape below nothing": {"shape": [-1]},
    "shape of halves": {"shape": [2.5]},
    "another shape": {"shape": [7]},
    "a shape of many sides": {"shape": [1] * 40},
    "features a text": {"features": "age"},
    "features too few": {"features": ["age"]},
    "learned nothing": {"learned": None},
    "learned a list": {"learned": []},
    "learned no attributes": {"learned": {"dict": {}}},
    "learned a method": {"learned": {"dict": {"predict": 1}}},
    "learned a hidden name": {"learned": {"dict": {"__class__": 1}}},
    "learned an unknown array": {"learned": {"dict": {"model_": {"array": "99"}}}},
    "learned an array that is a list": {"learned": {"dict": {"model_": {"array": []}}}},
    "learned of two kinds": {"learned": {"dict": {}, "tuple": []}},
    "learned a tuple that is none": {"learned": {"tuple": 3}},
    "learned a model of lists": {"learned": {"dict": {"model_": {"type": "Linear", "dict": {"weights": []}}}}},
    "learned without a scale": {"learned": {"dict": {"model_": LINEAR}}},
    "learned too deep": {"learned": nested(100)},
    "preprocessing a number": {"preprocessing": 3},
    "preprocessing another type": {"preprocessing": LINEAR},
    "preprocessing without columns": {"preprocessing": {"type": "TableEncoder", "dict": {}}},
    "columns that are none": {"preprocessing": {"type": "TableEncoder", "dict": {"columns": [1, 2]}}},
    "one column": {"preprocessing": {"type": "TableEncoder", "dict": {"columns": {"tuple": [NUMBER]}}}},
    "an image for rows": {"preprocessing": {"type": "ImageEncoder", "dict": {"column": 1, "shape": [1]}}},
    "pages a text": {"pages": "report.html"},
    "something unknown": {"colour": "red"},
}


@pytest.mark.parametrize("changes", OTHER_SHAPES.values(), ids=OTHER_SHAPES)
def test_a_manifest_of_another_shape_is_refused_by_name(saved, changes):
    rewritten(saved, **changes)
    with pytest.raises(ValueError, match=r"model\.json"):
        load(saved)


LEAF = st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text("a_0", max_size=3)
NAMES = st.sampled_from(["array", "texts", "tuple", "dict", "type", "network", "0", "Linear", "a_"])
TREE = st.recursive(LEAF, lambda t: st.lists(t, max_size=3) | st.dictionaries(NAMES, t, max_size=3), max_leaves=8)
FIELDS = st.sampled_from([field.name for field in fields(Manifest) if field.name not in ("files", "pages")])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(field="class_type", value="a")
@given(field=FIELDS, value=TREE)
def test_whatever_is_in_a_field_a_model_is_loaded_or_refused_by_name(saved, field, value):
    before = (saved / "model.json").read_bytes()
    rewritten(saved, **{field: value})
    try:
        load(saved)
    except ValueError as error:
        assert "model.json" in str(error)
    finally:
        (saved / "model.json").write_bytes(before)


def test_fields_that_are_lacking_are_refused_by_name(saved):
    whole = json.loads((saved / "model.json").read_text())
    for name in whole.keys() - {"pages", "files", "digest"}:
        write_manifest(saved, {key: value for key, value in whole.items() if key not in (name, "digest")})
        with pytest.raises(ValueError, match=r"model\.json"):
            load(saved)


def test_another_format_is_refused_with_both_versions(saved):
    rewritten(saved, format=99, llpgan="7.0.0")
    with pytest.raises(ValueError, match=r"saved by llpgan 7\.0\.0 in format 99; this is llpgan .* format 1"):
        load(saved)


def test_an_unknown_method_is_refused(saved):
    rewritten(saved, method="os.system")
    with pytest.raises(ValueError, match=r"model\.json .*holds a os\.system; this version knows DLLP"):
        load(saved)


@pytest.mark.parametrize("harmful", [{"type": "Popen", "dict": {"args": "true"}}, {"type": "system", "dict": {}}])
def test_a_model_that_would_run_code_is_refused(saved, harmful):
    rewritten(saved, preprocessing=harmful)
    with pytest.raises(ValueError, match=f"'{harmful['type']}' is an unknown type in the file"):
        load(saved)


def test_weights_that_do_not_fit_are_refused(tmp_path, bags):
    save(DLLP(random_state=0, epochs=1).fit_bags(bags), tmp_path / "model")
    rewritten(tmp_path / "model", shape=[4])
    with pytest.raises(
        ValueError, match=r"model\.json and weights\.safetensors do not make a DLLP: .*size mismatch"
    ):
        load(tmp_path / "model")


@pytest.mark.slow
def test_a_full_disk_leaves_nothing(saved):
    """A limit on the size of files fails as a full disk does, in the middle of writing."""
    script = (
        "import numpy as np; from llpgan import DLLP, save\n"
        "model = DLLP(epochs=1).fit(np.arange(8.)[:, None], [0, 1] * 4)\n"
        f"save(model, {str(saved)!r}, overwrite=True)"
    )

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = subprocess.run([sys.executable, "-c", script], preexec_fn=small_files, capture_output=True, text=True)
    assert done.returncode != 0
    assert "too large" in done.stderr
    assert [path.name for path in saved.parent.iterdir()] == ["model"]
    assert type(load(saved)).__name__ == "MeanMap"


@pytest.mark.slow
def test_the_machine_that_predicts_needs_no_training_data_and_no_torch(saved):
    script = (
        f"import sys; from llpgan import load; model = load({str(saved)!r})\n"
        "print(model.predict({'age': [30], 'city': ['Rome'], 'seen': ['2016-01-01']}), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout in ("['no'] False\n", "['yes'] False\n")


def test_a_model_of_tables_of_pairs_is_the_same_when_loaded(tmp_path):
    tables = MarginalTables.from_rows(PAIRED, [0, 1, 1, 0, 1, 1] * 8)
    model = MarginalLogistic(C=1.0, n_rows=500, random_state=0).fit_tables(tables)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(PAIRED), model.predict_proba(PAIRED))
    assert loaded.get_params() == model.get_params()
    assert loaded.values_ == model.values_
    assert "report(" not in (tmp_path / "model" / "model_card.md").read_text()
    clone(loaded).fit_tables(tables)


@pytest.mark.parametrize("part", ["known_", "values"])
def test_a_model_of_tables_of_pairs_whose_parts_do_not_fit_is_refused(part, tmp_path):
    model = MarginalLogistic(n_rows=500, random_state=0).fit(PAIRED, [0, 1, 1, 0, 1, 1] * 8)
    if part == "known_":
        model.known_ = model.known_[:-1]
    else:
        model.encoder_ = ValueEncoder({**model.values_, "state": ("Ohio",)})
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match="do not make a MarginalLogistic: known_ has"):
        load(tmp_path / "model")
