"""What benchmarks compute by themselves: plain loops that do the same thing, and tables made of rows."""

import json

import pytest
import torch
from benchmarks.__main__ import OTHERS, SPEED_AND_MEMORY, find_run, list_modules
from benchmarks.rows import RESULTS
from benchmarks.speed import plain
from benchmarks.speed.growth import exponent, page
from benchmarks.speed.measure import ratio_row

from llpgan.deep import losses

NOT_RUN_BY_NAME = {"by_bags", "measure", "mnist_settings", "plain", "pyei_fit", "rows"}  # what others use


def test_the_plain_loops_losses_are_the_librarys():
    logits, fakes = torch.randn(2, 16, 10, generator=torch.Generator().manual_seed(0))
    proportions = torch.full((10,), 0.1)
    one_bag = torch.zeros(16, dtype=torch.int64)
    expected = losses.proportion_loss(logits, one_bag, proportions[None])
    assert plain.proportion_loss(logits, proportions) == pytest.approx(expected.item(), abs=1e-5)
    expected = losses.real_loss(logits) + losses.fake_loss(fakes)
    assert plain.adversarial_loss(logits, fakes) == pytest.approx(expected.item(), abs=1e-5)


@pytest.mark.parametrize("spare", [False, True])
def test_a_plain_step_moves_both_networks(spare):
    from llpgan.deep.networks import mlp_classifier, mlp_generator

    networks = mlp_classifier((3,), 2), mlp_generator((3,), plain.NOISE_SIZE)
    before = [parameter.clone() for network in networks for parameter in network.parameters()]
    plain.plain_llpgan_step(*networks, spare)(torch.randn(8, 3), torch.tensor([0.5, 0.5]))
    after = [parameter for network in networks for parameter in network.parameters()]
    assert all(parameter.requires_grad for parameter in after)
    assert sum(not torch.equal(a, b) for a, b in zip(before, after, strict=True)) >= len(before) - 2


def test_a_ratio_is_the_median_over_rounds():
    row = ratio_row("a / b", [2.0, 4.0, 90.0], [1.0, 2.0, 3.0], at_most=3)
    assert (row["ratio"], row["bar"]) == (2.0, "at most 3")


def test_linear_growth_has_exponent_one():
    assert exponent([(10, 3.0), (100, 30.0), (1000, 300.0)]) == pytest.approx(1)


def test_the_page_of_growth_is_that_of_its_rows():
    rows = [json.loads(line) for line in (RESULTS / "growth.jsonl").read_text().splitlines()]
    assert page(rows) == (RESULTS / "growth.md").read_text()


@pytest.mark.parametrize("name", sorted({*list_modules(), *SPEED_AND_MEMORY, *OTHERS} - NOT_RUN_BY_NAME))
def test_a_benchmark_is_found_by_its_name(name):
    assert callable(find_run(name))


def test_a_benchmark_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(SystemExit, match=r"no benchmark 'step_tine'.*step_time"):
        find_run("step_tine")
