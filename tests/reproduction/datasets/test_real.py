"""Known facts of the real files: rows, class counts, sums of pixels, columns."""

import numpy as np
import pytest

from reproduction.datasets import (
    load_adult,
    load_cifar10,
    load_cifar100,
    load_fashion_mnist,
    load_mnist,
    load_svhn,
)
from tests.reproduction.datasets.real import real


def pixel_sums(split):
    return int(split.instances.sum(dtype=np.int64)), int(split.test_instances.sum(dtype=np.int64))


def test_mnist_has_its_published_counts():
    mnist = load_mnist(real("mnist"))
    assert mnist.instances.shape == (60_000, 1, 28, 28)
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(mnist.labels).tolist() == counts
    assert np.bincount(mnist.test_labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert mnist.labels[:5].tolist() == [5, 0, 4, 1, 9] and mnist.test_labels[:5].tolist() == [7, 2, 1, 0, 4]
    assert pixel_sums(mnist) == (1_567_298_545, 264_923_200)
    assert mnist.instances.mean() / 255 == pytest.approx(0.1307, abs=1e-4)


def test_fashion_mnist_has_its_published_counts():
    fashion = load_fashion_mnist(real("fashion-mnist"))
    assert fashion.instances.shape == (60_000, 1, 28, 28)
    assert np.bincount(fashion.labels).tolist() == [6000] * 10
    assert np.bincount(fashion.test_labels).tolist() == [1000] * 10
    assert fashion.class_names[fashion.labels[0]] == "Ankle boot"
    assert pixel_sums(fashion) == (3_431_114_169, 573_469_082)
    assert fashion.instances.mean() / 255 == pytest.approx(0.2860, abs=1e-4)


@pytest.mark.slow
def test_cifar_10_has_its_published_counts():
    cifar = load_cifar10(real("cifar-10-batches-py"))
    assert cifar.instances.shape == (50_000, 3, 32, 32)
    assert np.bincount(cifar.labels).tolist() == [5000] * 10
    assert np.bincount(cifar.test_labels).tolist() == [1000] * 10
    assert [cifar.class_names[label] for label in cifar.labels[:3]] == ["frog", "truck", "truck"]
    assert pixel_sums(cifar) == (18_540_682_003, 3_733_375_634)
    channels = cifar.instances.sum(axis=(0, 2, 3), dtype=np.int64) / (255 * 50_000 * 1024)
    np.testing.assert_allclose(channels, [0.4914, 0.4822, 0.4465], atol=1e-4)


def test_cifar_100_has_its_published_counts():
    folder = real("cifar-100-python")
    fine, coarse = load_cifar100(folder), load_cifar100(folder, coarse=True)
    assert fine.instances.shape == (10_000, 3, 32, 32)
    assert np.bincount(fine.labels).tolist() == [100] * 100
    assert np.bincount(coarse.test_labels).tolist() == [250] * 20
    assert pixel_sums(fine) == (3_755_288_314, 1_867_126_083)
    trees = {fine.class_names[label] for label in fine.labels[coarse.labels == coarse.class_names.index("trees")]}
    assert trees == {"maple_tree", "oak_tree", "palm_tree", "pine_tree", "willow_tree"}


def test_svhn_has_its_published_counts():
    svhn = load_svhn(real("svhn"))
    assert svhn.instances.shape == (12_000, 3, 32, 32)
    assert np.bincount(svhn.labels).tolist() == [789, 2199, 1765, 1379, 1246, 1152, 942, 892, 866, 770]
    assert np.bincount(svhn.test_labels).tolist() == [332, 999, 781, 570, 471, 462, 383, 409, 315, 278]
    assert pixel_sums(svhn) == (4_254_011_015, 1_793_565_890)


def test_adult_has_its_published_counts():
    adult = load_adult(real("adult.csv.gz"))
    assert [(adult.labels == income).sum() for income in ("<=50K", ">50K")] == [24_720, 7_841]
    assert [(adult.test_labels == income).sum() for income in ("<=50K", ">50K")] == [12_435, 3_846]
    assert (adult.columns["workclass"] == "?").sum() == 1_836
    assert len(np.unique(adult.columns["education"])) == 16 and len(np.unique(adult.columns["occupation"])) == 15
    assert adult.columns["age"].min() == 17 and adult.columns["age"].max() == 90
