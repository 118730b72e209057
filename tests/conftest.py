from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import settings

from llpgan import Bags

settings.register_profile("any machine", deadline=None)  # no test asserts on seconds
settings.load_profile("any machine")
torch.set_num_threads(1)  # two test processes share two cores


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def quick_parts(monkeypatch):
    """AutoLLP with fewer models and resamples, which cannot be set from outside: in a tenth of the time."""
    from llpgan.methods import auto_llp  # here, as few tests need what it imports

    monkeypatch.setattr(auto_llp, "BagBoosting", partial(auto_llp.BagBoosting, n_models=2))
    monkeypatch.setattr(auto_llp, "BagLogistic", partial(auto_llp.BagLogistic, n_resamples=5))


@pytest.fixture
def blobs():
    """Two classes, far apart, in ten bags of eight."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 40)
    rng.shuffle(labels)
    instances = rng.normal(size=(80, 3)) + 4 * labels[:, None]
    return instances, labels, np.arange(80) // 8


@pytest.fixture
def bags(blobs):
    return Bags.from_labels(*blobs)


@pytest.fixture
def coloured():
    """Colour images of two classes, with a bright upper or lower half, as bytes, in twelve bags of eight."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 96)
    images = rng.integers(0, 120, (96, 3, 16, 16))
    images[labels == 0, :, :8] += 100
    images[labels == 1, :, 8:] += 100
    return images.astype(np.uint8), labels, np.arange(96) // 8


@pytest.fixture
def bags_of_images(coloured):
    return Bags.from_labels(*coloured)
