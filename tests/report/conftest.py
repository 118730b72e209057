from functools import cache

import numpy as np
import pytest

from llpgan import DLLP, LLPGAN, Bags, MeanMap
from llpgan.report import collect_content, render
from tests.report.browser import chromium


def drawn(n_classes, n_bags, shape, names=None):
    """Labelled instances whose class moves them, in bags of eight with shares of their own."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_bags), 8)
    shares = rng.dirichlet(np.ones(n_classes), size=n_bags)
    labels = np.array([rng.choice(n_classes, p=shares[bag]) for bag in groups])
    labels[:n_classes] = np.arange(n_classes)
    instances = rng.normal(size=(len(groups), *shape)) + 2 * labels.reshape(-1, *[1] * len(shape))
    return instances, np.array(names or range(n_classes))[labels], groups


def binary_table(with_labels):
    instances, labels, groups = drawn(2, 12, (3,), ["no", "yes"])
    bags = Bags.from_labels(instances, labels, groups, features=["age", "income", "city"])
    model = MeanMap(C=0.5).fit_bags(bags)
    return collect_content(
        model, bags, title="A table", notes=["column 'id' left out"], labels=labels if with_labels else None
    )


def three_classes(with_labels):
    instances, labels, groups = drawn(3, 15, (2,))
    bags, held_out = Bags.from_labels(instances, labels, groups), Bags.from_labels(instances + 0.1, labels, groups)
    model = DLLP(epochs=3, random_state=0, device="cpu").fit_bags(bags, held_out=held_out)
    return collect_content(model, bags, title="Three", labels=labels if with_labels else None, held_out=held_out)


def images(with_labels):
    instances, labels, groups = drawn(2, 6, (1, 8, 8))
    bags = Bags.from_labels(instances, labels, groups)
    model = LLPGAN(epochs=1, random_state=0, device="cpu").fit_bags(bags)
    return collect_content(model, bags, title="Images", labels=labels if with_labels else None)


TOLD = {"table": binary_table, "three classes": three_classes, "images": images}


@cache
def told(name, with_labels):
    return TOLD[name](with_labels)


@cache
def page_on(name, with_labels):
    return render(told(name, with_labels))


@pytest.fixture(params=TOLD)
def kind(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["labels", "no labels"])
def page(request, kind):
    return page_on(kind, request.param)


@pytest.fixture(scope="package")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened
