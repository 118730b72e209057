"""The version of the package: its one source."""

__version__ = "0.2.0"
