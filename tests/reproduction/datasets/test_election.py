import numpy as np

from reproduction.datasets import load_election


def test_the_vote_is_hidden_and_the_results_are_official():
    election = load_election()
    assert election.people.num_rows == len(election.votes) == 44932
    assert "voted_trump" not in election.people.column_names
    assert not any("voted" in feature for feature in election.bags.features)
    ohio = election.bags.bag_ids.index("Ohio")
    assert election.bags.classes.tolist() == ["other", "trump"]
    assert election.bags.proportions[ohio].sum() == 1
    assert np.mean(election.votes == "trump").round(3) == 0.417


def test_official_results_and_the_survey_are_different_sources():
    election = load_election()
    surveyed = election.bags.means((election.votes == "trump").astype(float)[:, None])[:, 0]
    gap = np.abs(surveyed - election.bags.proportions[:, 1])
    assert 0.01 < gap.mean() < 0.1
