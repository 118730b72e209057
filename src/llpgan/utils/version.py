"""The version of the package: its one source."""

__version__ = "0.3.0"
