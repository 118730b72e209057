"""The type of arrays whose entries may be of any type."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
