"""Which epoch is kept: a later one, unless bags show that it is worse."""

import pytest

from llpgan.bags.fit_warnings import kept_epoch


def history(*rows):
    return [
        {"epoch": epoch, "held_out_loss": loss, "held_out_error": error}
        for epoch, (loss, error) in enumerate(rows, start=1)
    ]


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([(0.9, 0), (0.5, 0), (0.7, 0.1)], 2),  # worse beyond chance
        ([(0.9, 0), (0.5, 0), (0.55, 0.1)], 3),  # worse, but as chance would have it
        ([(0.9, 0), (0.5, 0), (0.55, 0.1), (0.4, 0), (0.9, 0.1)], 4),
        ([(0.5, 0), (0.5, 0)], 2),
        ([(0.5, 0), (float("nan"), float("nan"))], 1),
        ([], None),
    ],
)
def test_the_last_epoch_within_a_standard_error_of_the_best_is_kept(rows, kept):
    assert kept_epoch(history(*rows)) == kept


def test_without_held_out_bags_none_is_chosen():
    assert kept_epoch([{"epoch": 1, "proportion_loss": 0.5}]) is None
