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
