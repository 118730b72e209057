"""Models and stores of version 0.2 load, and predict what they predicted; old names still work."""

import json
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from llpgan import load
from llpgan.tables.store import open_store
from llpgan.utils.old_names import OLD_PACKAGES

SAVED = Path(__file__).parent / "version_0_2"
EXPECTED = json.loads((SAVED / "expected.json").read_text())
TABLE = json.loads((SAVED / "table.json").read_text())


@pytest.mark.parametrize("name", sorted(path.name for path in SAVED.iterdir() if (path / "model.json").exists()))
def test_a_saved_model_predicts_as_before(name):
    instances = np.load(SAVED / "images.npy") if name == "DLLP_images" else TABLE["new"]
    np.testing.assert_allclose(load(SAVED / name).predict_proba(instances), EXPECTED[name], atol=1e-6)


def test_a_store_opens_as_before():
    bags = open_store(SAVED / "store")
    assert (len(bags.instances), bags.n_bags) == (120, 15)
    assert bags.classes.tolist() == ["no", "yes"]


@pytest.mark.parametrize("old", sorted(OLD_PACKAGES))
def test_an_old_package_is_found_with_a_warning(old):
    import sys

    sys.modules.pop(old, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = import_module(old)
    assert any(f"{old} is now {OLD_PACKAGES[old]}" in str(warning.message) for warning in caught)
    for new in map(import_module, OLD_PACKAGES[old].split(" and ")):
        names = getattr(new, "__all__", [name for name in vars(new) if not name.startswith("_")])
        assert set(names) <= set(dir(module))


@pytest.mark.parametrize(
    ("package", "old", "new"),
    [
        ("llpgan.evaluation", "shares_by", "llpgan.ecological.shares_by"),
        ("llpgan.data.bagging", "rounded", "llpgan.data.bagging.round_proportions"),
        ("llpgan.deep.networks", "settle", "llpgan.deep.networks.settle_weights"),
        ("llpgan.report", "tell", "llpgan.report.collect_content"),
    ],
)
def test_an_old_name_works_and_says_the_new_one(package, old, new):
    with pytest.warns(FutureWarning, match=f"{package}.{old} is now {new}"):
        found = getattr(import_module(package), old)
    home, _, name = new.rpartition(".")
    assert found is getattr(import_module(home), name)
