from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import block_diag

from llpgan import Bags, LaplacianMeanMap, MeanMap
from llpgan.methods.mean_map import SIMILARITIES, bag_class_means, class_means, exponential, laplacian, nearest

each_similarity = pytest.mark.parametrize("similarity", SIMILARITIES.values(), ids=SIMILARITIES)


@pytest.fixture
def problem(rng):
    """Bag means, proportions and sizes of nine bags and three classes."""
    return rng.normal(size=(9, 4)), rng.dirichlet(np.ones(3), size=9), rng.integers(1, 20, size=9)


@each_similarity
def test_the_means_solve_the_problem_as_it_is_written(problem, similarity):
    means, proportions, sizes = problem
    roughness = 2.5 * laplacian(similarity(means))
    dense = roughness.toarray() if sparse.issparse(roughness) else roughness
    mixing = np.hstack([np.diag(p) for p in proportions.T])
    weights = np.diag(sizes / sizes.mean())
    system = mixing.T @ weights @ mixing + block_diag(*[dense + 1e-6 * np.eye(9)] * 3)
    expected = np.linalg.solve(system, mixing.T @ weights @ means).reshape(3, 9, 4).swapaxes(0, 1)
    np.testing.assert_allclose(bag_class_means(*problem, roughness), expected, atol=1e-6)


def test_a_sparse_graph_and_the_same_dense_one_agree(problem):
    graph = laplacian(nearest(problem[0], n_neighbors=3))
    np.testing.assert_allclose(
        bag_class_means(*problem, graph), bag_class_means(*problem, graph.toarray()), atol=1e-6
    )


@each_similarity
def test_sharing_without_end_gives_one_mean_a_class(problem, similarity):
    found = bag_class_means(*problem, 1e7 * laplacian(similarity(problem[0])))
    np.testing.assert_allclose(found, np.broadcast_to(class_means(*problem), found.shape), atol=1e-4)


@each_similarity
def test_without_end_it_is_mean_map(blobs, similarity):
    instances, labels, groups = blobs
    smooth = LaplacianMeanMap(gamma=1e7, similarity=similarity).fit(instances, labels, groups=groups)
    one_mean = MeanMap().fit(instances, labels, groups=groups)
    np.testing.assert_allclose(smooth.predict_proba(instances), one_mean.predict_proba(instances), atol=1e-3)


def test_bags_that_look_different_are_learned_where_mean_map_is_misled(rng):
    """Bags of two places far apart: what tells the places apart says nothing of the class."""
    n_bags, size = 60, 20
    place = np.arange(n_bags) % 2
    shares = np.where(place == 0, rng.uniform(0.0, 0.6, n_bags), rng.uniform(0.4, 1.0, n_bags))
    labels = (rng.random((n_bags, size)) < shares[:, None]).astype(int)
    instances = rng.normal(size=(n_bags, size, 2))
    instances[..., 0] += 2 * labels
    instances[..., 1] += 6 * place[:, None] - 2 * labels
    table = instances.reshape(-1, 2), labels.ravel(), np.repeat(np.arange(n_bags), size)
    local = LaplacianMeanMap(gamma=0.1, similarity=partial(nearest, n_neighbors=8)).fit(*table)
    assert local.score(*table[:2]) > MeanMap().fit(*table).score(*table[:2]) + 0.05


def test_the_laplacian_of_a_graph_sums_to_zero(rng):
    graph = laplacian(exponential(rng.normal(size=(6, 2))))
    np.testing.assert_allclose(graph.sum(axis=0), 0, atol=1e-12)
    assert np.diag(graph).mean() == pytest.approx(1)


def test_bags_with_the_same_mean_are_alike():
    np.testing.assert_array_equal(exponential(np.zeros((3, 2))), np.ones((3, 3)))
    np.testing.assert_allclose(
        exponential(np.array([[0.0], [0.0], [0.0], [0.0], [1.0]]))[0], [1, 1, 1, 1, np.exp(-1)]
    )


def test_the_same_proportions_in_all_bags_are_refused(rng):
    bags = Bags.from_arrays(rng.normal(size=(8, 2)), np.arange(8) % 4, np.full((4, 2), 0.5))
    with pytest.raises(ValueError, match="cannot tell the classes apart"):
        LaplacianMeanMap().fit_bags(bags)
