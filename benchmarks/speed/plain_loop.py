"""Instances a second of LLP-GAN's training, over a plain port of the authors' loop on the same bags of 16."""

import warnings
from collections.abc import Mapping
from functools import partial

from benchmarks.rows import Row
from benchmarks.speed.measure import MNIST, image_bags, ratio_row, time_work
from benchmarks.speed.plain import NOISE_SIZE, Step, plain_bags, plain_epoch, plain_llpgan_step
from llpgan import LLPGAN
from llpgan.bags.fit_warnings import TrainingWarning
from llpgan.deep.networks import mnist_classifier, mnist_generator

BAG_SIZE, N_BAGS, ROUNDS = 16, 64, 12
SETTINGS = {"settings": {"bag_size": BAG_SIZE, "bags": N_BAGS, "bags_a_step": 4}}


def run() -> list[Row]:
    """After each of our epochs comes one of each plain loop, so that a busy machine slows all alike."""
    bags = image_bags(MNIST, N_BAGS, BAG_SIZE)
    tensors = [(pixels / 127.5 - 1, proportions) for pixels, proportions in plain_bags(bags)]
    loops = {"plain": plain_step(spare=False), "sparing": plain_step(spare=True)}

    def plain_seconds(_: LLPGAN) -> Mapping[str, float]:
        return {name: time_work(partial(plain_epoch, step, tensors)) for name, step in loops.items()}

    model = LLPGAN(epochs=ROUNDS + 1, random_state=0)
    with warnings.catch_warnings(action="ignore", category=TrainingWarning):  # there is nothing to learn here
        model.fit_bags(bags, monitor=plain_seconds)
    epochs = model.history_[1:]  # the first is for caches and for memory
    ours, plain, sparing = ([epoch[name] for epoch in epochs] for name in ("seconds", "plain", "sparing"))
    what = "instances a second, ours / a plain loop"
    rows = [
        ratio_row(what, plain, ours, at_least=3),
        ratio_row(f"{what} that leaves out gradients of no use", sparing, ours),
    ]
    return [row | SETTINGS for row in rows]


def plain_step(spare: bool) -> Step:
    return plain_llpgan_step(mnist_classifier(MNIST, 10), mnist_generator(MNIST, NOISE_SIZE), spare)
