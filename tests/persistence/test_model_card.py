"""The model card: written with every model, for people alone."""

import numpy as np
import pytest

from llpgan import Bags, InvCal, MeanMap, load, save
from llpgan.utils.version import __version__

NAMES = ["<no>|`x`", "yes\n# Injected"]


@pytest.fixture
def model(bags):
    return MeanMap(C=0.5).fit_bags(bags)


def test_the_card_says_what_the_model_is(model, tmp_path):
    save(model, tmp_path / "model")
    card = (tmp_path / "model" / "model_card.md").read_text()
    assert card.startswith("# Model card: MeanMap\n")
    assert f"llpgan {__version__}" in card
    assert "one of 0, 1, and the probability of each. It takes rows of 3 numbers" in card
    assert "| C | 0.5 | None |" in card
    assert "Not recorded" in card  # save has not seen the bags
    assert "## Limits" in card


def test_names_of_users_mean_nothing_in_the_card(blobs, tmp_path):
    instances, labels, groups = blobs
    bags = Bags.from_labels(instances, np.array(NAMES)[labels], groups, features=["a|b", "[c](d)", "e"])
    save(MeanMap().fit_bags(bags), tmp_path / "model")
    card = (tmp_path / "model" / "model_card.md").read_text()
    assert r"one of \<no\>\|\`x\`, yes \# Injected, and" in card
    assert r"a\|b, \[c\]\(d\), e" in card


def test_a_card_may_be_changed_or_absent(model, bags, tmp_path):
    save(model, tmp_path / "model")
    card = tmp_path / "model" / "model_card.md"
    for change in (lambda: card.write_text("# Mine"), card.unlink):
        change()
        np.testing.assert_array_equal(
            load(tmp_path / "model").predict_proba(bags.instances), model.predict_proba(bags.instances)
        )


def test_a_card_of_ones_own_replaces_it(model, tmp_path):
    save(model, tmp_path / "model", pages={"model_card.md": "# Mine"})
    assert (tmp_path / "model" / "model_card.md").read_text() == "# Mine"


def test_an_overwritten_model_has_the_card_of_the_new_one(model, bags, tmp_path):
    save(model, tmp_path / "model")
    (tmp_path / "model" / "notes.txt").write_text("mine")
    save(InvCal().fit_bags(bags), tmp_path / "model", overwrite=True)
    assert (tmp_path / "model" / "model_card.md").read_text().startswith("# Model card: InvCal")
    assert (tmp_path / "model" / "notes.txt").read_text() == "mine"


def test_a_card_that_llpgan_has_not_written_is_kept(model, bags, tmp_path, monkeypatch):
    with monkeypatch.context() as before_there_were_cards:
        before_there_were_cards.setattr("llpgan.persistence.model.CARD", "report.html")
        save(model, tmp_path / "model")
    mine = tmp_path / "model" / "model_card.md"
    mine.write_text("# Mine")
    with pytest.raises(FileExistsError, match=r"model_card\.md"):
        save(InvCal().fit_bags(bags), tmp_path / "model", overwrite=True)
    assert mine.read_text() == "# Mine"
    assert type(load(tmp_path / "model")).__name__ == "MeanMap"
