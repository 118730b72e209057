import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from llpgan.methods.lbfgs import WolfeSearch, minimize_side_by_side


def rosenbrock(points, which):
    return np.array([rosen(point) for point in points]), np.array([rosen_der(point) for point in points])


def test_each_search_takes_the_steps_that_it_takes_alone(rng):
    """In a curved valley, where line searches are long; scipy stops at the same points."""
    start = rng.normal(size=(6, 4))
    for tol in (1.0, 1e-2, 1e-6):
        found = minimize_side_by_side(rosenbrock, start, tol=tol).points
        for point, alone in zip(found, start, strict=True):
            options = {"gtol": tol, "ftol": 0.0}
            expected = minimize(rosen, alone, jac=rosen_der, method="L-BFGS-B", options=options).x
            np.testing.assert_allclose(point, expected, atol=1e-6)


def test_searches_end_after_so_many_steps(rng):
    start = rng.normal(size=(3, 4))
    found = minimize_side_by_side(rosenbrock, start, tol=1e-6, max_iterations=5).points
    expected = [
        minimize(rosen, x, jac=rosen_der, method="L-BFGS-B", options={"maxiter": 5, "gtol": 1e-6}).x for x in start
    ]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_search_that_begins_at_its_minimum_stays_there():
    np.testing.assert_array_equal(
        minimize_side_by_side(rosenbrock, np.ones((1, 3)), tol=1e-8).points, np.ones((1, 3))
    )


def test_a_function_that_is_not_finite_ahead_ends_the_search():
    def walled(points, which):
        values = np.where(points[:, 0] > 0.1, np.nan, -points[:, 0])
        return values, np.full_like(points, -1.0)

    assert minimize_side_by_side(walled, np.zeros((1, 1)), tol=1e-8).points == pytest.approx(0)


@pytest.mark.parametrize("step", [1e-6, 0.3, 2.0, 50.0])
def test_a_step_lowers_the_value_and_flattens_the_slope(step):
    def at(x):
        return np.sin(x) - 2 * x / (1 + x), np.cos(x) - 2 / (1 + x) ** 2

    value, slope = at(0.0)
    search, done, first = WolfeSearch(value, slope, step), False, slope
    for _ in range(30):
        found, slope = at(step)
        step, done = search.update(step, found, slope)
        if done:
            break
    assert done
    assert found <= value + 1e-3 * step * first
    assert abs(slope) <= 0.9 * abs(first)
