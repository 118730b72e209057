"""What a file of skops may hold: our own types, by name. Anything else is refused, and never imported."""

from pathlib import Path
from typing import Any

import skops.io

_TRUSTED = {
    "llpgan.estimators.alternating_mean_map.AlternatingMeanMap",
    "llpgan.estimators.inv_cal.KernelSigmoid",
    "llpgan.estimators.kernels.KernelMap",
    "llpgan.estimators.kernels.NamedKernel",
    "llpgan.estimators.laplacian_mean_map.LaplacianMeanMap",
    "llpgan.estimators.linear.Linear",
    "llpgan.estimators.mean_map.MeanMap",
    "llpgan.estimators.one_vs_rest.Sigmoid",
    "llpgan.sources.arrays.ArrayEncoder",
    "llpgan.sources.encoders.Category",
    "llpgan.sources.encoders.Date",
    "llpgan.sources.encoders.Number",
    "llpgan.sources.images.ImageEncoder",
    "llpgan.sources.table_encoder.TableEncoder",
}


def dump(value: Any, path: Path) -> None:
    """Write a value, if it can be read again."""
    content = skops.io.dumps(value)
    if unknown := set(skops.io.get_untrusted_types(data=content)) - _TRUSTED:
        raise TypeError(
            f"this model holds {min(unknown)}, code of your own, which a saved model cannot: pickle it"
        )
    path.write_bytes(content)


def load(path: Path) -> Any:
    """Read a value; a file that holds any other type is refused."""
    try:
        unknown = set(skops.io.get_untrusted_types(file=path)) - _TRUSTED
    except Exception as error:  # zip, JSON and skops each have their own
        raise ValueError(f"{path} is damaged: {error}") from error
    if unknown:
        raise ValueError(f"{path} holds {min(unknown)}, which no model of llpgan does: it is not loaded")
    return skops.io.load(path, trusted=sorted(_TRUSTED))
