"""``import llpgan`` is light: what needs torch loads it when it is used."""

import subprocess
import sys

import pytest

import llpgan


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("heavy", ["torch", "sklearn", "scipy", "matplotlib", "lightning_fabric"])
def test_importing_the_package_and_its_data_type_loads_nothing_heavy(heavy):
    assert python(f"import sys, llpgan; llpgan.Bags; print({heavy!r} in sys.modules)") == "False"


def test_names_are_found_when_they_are_used():
    assert llpgan.LLPGAN.__name__ == "LLPGAN"
    assert {"LLPGAN", "DLLP", "Bags"} <= set(dir(llpgan))
    with pytest.raises(AttributeError, match="no attribute 'LLPGUN'"):
        llpgan.LLPGUN  # noqa: B018


def test_the_help_loads_nothing_heavy():
    heavy = ["numpy", "torch", "sklearn", "pyarrow", "rich", "jsonargparse"]
    code = (
        f"import sys; from llpgan.cli.main import main; main(['--help']); print({set(heavy)} & sys.modules.keys())"
    )
    assert python(code).splitlines()[-1] == "set()"


@pytest.mark.slow
@pytest.mark.parametrize("method", [[], ["--method", "BagLogistic"], ["--method", "MeanMap"]])
def test_a_method_without_a_network_is_fitted_without_torch(tmp_path, method):
    rows = "".join(f"s{i % 12},{i % 7},{'yes' if i % 12 > i % 7 else 'no'}\n" for i in range(240))
    (tmp_path / "people.csv").write_text("state,age,vote\n" + rows)
    command = ["fit", f"{tmp_path}/people.csv", "--bag", "state", "--label", "vote", "--out", f"{tmp_path}/model"]
    arguments = [*command, *method]
    code = f"import sys; from llpgan.cli.main import main; print(main({arguments!r}), 'torch' in sys.modules)"
    assert python(code) == "0 False"
