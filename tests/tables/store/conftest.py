import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

N = 5000


@pytest.fixture(scope="session")
def people():
    """All kinds of columns, in 40 ragged bags whose rows are mixed."""
    rng = np.random.default_rng(0)
    age = rng.normal(50, 10, N).round(1)
    state = rng.integers(40, size=N) ** 2 // 40
    return pa.table(
        {
            "state": [f"s{i}" for i in state],
            "age": pa.array(np.where(rng.random(N) < 0.1, np.nan, age + state / 4), from_pandas=True),
            "children": rng.integers(5, size=N),
            "city": pa.array(rng.choice(["Rome", "Oslo", "Bonn", None], N).tolist()),
            "income": [str(n) for n in rng.integers(1000, 9999, size=N)],
            "since": pa.array(rng.integers(10_000, 18_000, size=N), pa.int32()).cast(pa.date32()),
            "owner": rng.random(N) < 0.3,
            "nr": np.arange(N),
            "name": [f"person {i}" for i in rng.permutation(N)],
            "country": ["US"] * N,
        }
    )


@pytest.fixture(scope="session")
def results(people):
    rng = np.random.default_rng(1)
    states = sorted(set(people["state"].to_pylist()))
    shares = rng.random(len(states)).round(3)
    return pa.table({"state": states, "no": 1 - shares, "yes": shares})


@pytest.fixture
def files(people, results, tmp_path, monkeypatch):
    """The tables as files, in the working folder."""
    monkeypatch.chdir(tmp_path)
    pa.parquet.write_table(people, "people.parquet", row_group_size=700)
    pa.parquet.write_table(results, "results.parquet")
    return tmp_path
