"""What a user says of tables."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from llpgan.bags.checks import check_switch, check_tolerance
from llpgan.bags.known_shares import refuse_beside_within
from llpgan.tables.backbones import refuse_unknown_backbone, takes_texts
from llpgan.tables.encode import Columns
from llpgan.tables.read import RowStream, missing_column_error
from llpgan.tables.streams import FOLDER_COLUMN

NAME = (str, Integral)  # names of columns are text, and those of frames may be numbers


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """The description of a user's tables, checked before the tables are read.

    Parameters
    ----------
    proportions : table or path, default=None
        A table with one row per bag: the columns of the bag, and one column per class.
    bag : str or sequence of str, default=None
        The column or columns that say which bag a row belongs to. Both tables have them.
    counts : table or path, default=None
        A table like ``proportions`` that holds counts, which may refer to a larger population.
    label : str, default=None
        A column of labels, which is never used as a feature. Without ``proportions`` and ``counts``, the labels
        are counted in each bag and then discarded.
    classes : sequence of str, default=None
        The columns of ``proportions`` or ``counts`` that are classes. None means all columns but those of the bag.
    columns : Columns, default=None
        Which columns are features, and of what kind. None means that it is inferred from their values.
    image : str, default=None
        The column that holds the paths of images.
    image_size : tuple of int, default=None
        The height and width that all images are resized to. None means that images of one size keep it, and
        that images of different sizes are resized to their median height and width, at most 64 pixels for the
        shorter.
    text : str or sequence of str, default=None
        The columns of texts, such as comments. A pretrained network (``features``) turns each into numbers.
    features : str, default=None
        The name of a pretrained network (see :class:`llpgan.Embedding`) whose features of images or texts are the
        instances. None means "wordllama" for texts, and the pixels of images.
    mirror : bool, default=None
        Whether the network also sees each image mirrored, and the mean of both features is used, which takes
        twice the time. None means False.
    lower : table or path, default=None
        The smallest possible shares, instead of proportions or counts: a table like ``proportions``.
    upper : table or path, default=None
        The largest possible shares.
    partial : bool, default=False
        Whether an empty cell of ``proportions`` stands for a share that is not known.
    within : bool, default=False
        Whether the shares or counts of a bag with empty cells are those *within* the classes that are given, which
        then sum to one; their total share is unknown.
    proportions_sd : float, default=None
        The standard deviation of noise in the proportions. None means that they are exact.
    weight : str, default=None
        A column that says how much each row counts in its bag: survey weights, or counts of identical rows. It is
        never used as a feature.
    long : sequence of str, default=None
        The columns of the class and of its share, if ``proportions`` or ``counts`` has one row for each bag and
        class. None means one row per bag and one column per class.
    unmatched : {"error", "drop"}, default="error"
        What happens to rows in bags without proportions: an error, or they are dropped, as are proportions
        without rows, and a note counts both.
    tolerance : float, default=0.01
        Proportions whose sum differs from one by at most this much are normalized; larger differences raise an
        error.

    Raises
    ------
    TypeError
        If a name of a column is not a name, or ``columns`` is not :class:`~llpgan.Columns`.
    ValueError
        If options contradict each other.
    """

    proportions: Any = None
    bag: str | Sequence[str] | None = None
    counts: Any = None
    label: str | None = None
    classes: Sequence[Hashable] | None = None
    columns: Columns | None = None
    image: str | None = None
    image_size: tuple[int, int] | None = None
    text: str | Sequence[str] | None = None
    features: str | None = None
    mirror: bool | None = None
    lower: Any = None
    upper: Any = None
    partial: bool = False
    within: bool = False
    proportions_sd: float | None = None
    weight: str | None = None
    long: Sequence[str] | None = None
    unmatched: Literal["error", "drop"] = "error"
    tolerance: float = 0.01

    def __post_init__(self) -> None:
        if self.weight is not None and not isinstance(self.weight, NAME):
            raise TypeError(f"weight must be the name of a column, got {self.weight!r}")
        if self.weight is not None and str(self.weight) in [*self.bag_ids, str(self.label)]:
            raise ValueError(f"column {self.weight!r} is given as weight and as bag or label")
        if self.label is not None and not isinstance(self.label, NAME):
            raise TypeError(f"label must be the name of a column, got {self.label!r}")
        if self.label is not None and str(self.label) in self.bag_ids:
            raise ValueError(
                f"column {self.label!r} is given as bag and as label: a label tells the class of a row"
            )
        if self.classes is not None:
            check_class_columns(self.classes)
        if self.long is not None and len(check_names(self.long, "long")) != 2:
            raise ValueError(f"long names two columns, that of the class and that of its share, got {self.long!r}")
        if both := {*map(str, self.long or ())} & {*self.bag_ids}:
            raise ValueError(f"column {min(both)!r} is given as bag and as class or share (long)")
        if self.columns is not None and not isinstance(self.columns, Columns):
            raise TypeError(
                f"columns must be Columns of llpgan.tables, such as Columns(drop=['name']), "
                f"got a {type(self.columns).__name__}"
            )
        if self.image is not None and not isinstance(self.image, str):
            raise TypeError(f"image must be the name of a column of paths, got {self.image!r}")
        check_switch(self.partial, "partial")
        check_switch(self.within, "within")
        sd: Any = self.proportions_sd
        if sd is not None and (isinstance(sd, bool) or not isinstance(sd, Real) or not 0 <= float(sd) < np.inf):
            raise ValueError(f"proportions_sd must be one number that is not negative, got {sd!r}")
        given = self.tables_of_bags
        if self.within:
            full = None if given.keys() & {"lower", "upper"} else True
            refuse_beside_within(full, sd, partial=self.partial)
        if (size := self.image_size) is not None:
            is_pair = isinstance(size, Sequence) and not isinstance(size, str) and len(size) == 2
            if not is_pair or not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in size):
                raise ValueError(f"image_size must be height and width in pixels, such as (32, 32), got {size!r}")
        if any(option is not None for option in (self.features, self.text, self.mirror)):
            self._check_features()
        if self.unmatched not in ("error", "drop"):
            raise ValueError(f"unmatched must be 'error' or 'drop', got {self.unmatched!r}")
        check_tolerance(self.tolerance)

    @cached_property
    def bag_ids(self) -> list[str]:
        """The columns of the bag that the user names; empty for a folder of images."""
        return [] if self.bag is None else check_names(self.bag, "bag")

    @cached_property
    def texts(self) -> list[str]:
        """The columns of texts."""
        return [] if self.text is None else check_names(self.text, "text")

    def _check_features(self) -> None:
        if self.features is not None and not isinstance(self.features, str):
            raise TypeError(
                f"features must be the name of a pretrained network, such as 'efficientnet_lite0', got "
                f"{self.features!r}; for one of your own, give its features as the instances (llpgan.Embedding)"
            )
        if self.mirror is not None:
            check_switch(self.mirror, "mirror")
            if self.features is None or self.texts:
                raise ValueError("mirror is for features of images: name the network (features), or leave it out")
        if both := {*self.texts} & {*self.bag_ids, str(self.label), str(self.weight), str(self.image)}:
            raise ValueError(f"column {min(both)!r} is given as text and as bag, label, weight or image")
        if self.features is None:
            return
        refuse_unknown_backbone(self.features)
        if self.texts and not takes_texts(self.features):
            raise ValueError(f"{self.features} is for images, but text names columns of texts: use wordllama")
        if self.image is not None and takes_texts(self.features) and not self.texts:
            raise ValueError(f"{self.features} is for texts, but image names a column of images")

    @property
    def tables_of_bags(self) -> dict[str, Any]:
        """The tables with one row per bag that are given, by option; refused if they exclude each other."""
        given = {name: getattr(self, name) for name in ("proportions", "counts", "lower", "upper")}
        given = {name: table for name, table in given.items() if table is not None}
        if given.keys() >= {"proportions", "counts"}:
            raise ValueError("give either proportions or counts, and not both")
        if given.keys() & {"proportions", "counts"} and given.keys() & {"lower", "upper"}:
            raise ValueError("give either proportions (or counts) or bounds, and not both")
        return given

    def bag_columns(self, stream: RowStream) -> list[str]:
        """Return the columns that say which bag a row belongs to.

        Parameters
        ----------
        stream : RowStream
            The rows.

        Returns
        -------
        list of str
            The names of the columns. For a folder of images, the column of the folder.

        Raises
        ------
        ValueError
            If no column is named and the rows are not a folder of images.
        """
        if self.bag is None and stream.image is None:
            there = ", ".join(map(repr, stream.schema.names)) or "no columns"
            raise ValueError(f"say which column holds the bag of each row (bag); {stream.name} has {there}")
        return self.bag_ids or [FOLDER_COLUMN]

    def check_source(self, stream: RowStream) -> None:
        """Check that the rows have the named columns, and images if an option needs them.

        Parameters
        ----------
        stream : RowStream
            The rows.

        Raises
        ------
        ValueError
            If a column is missing, or an option does not suit the rows.
        """
        image = self.image or stream.image
        has_images = image is not None or (stream.shape is not None and len(stream.shape) == 3)
        if self.texts and has_images:
            raise ValueError(f"text names columns of a table, but {stream.name} holds images: leave it out")
        if self.features is not None and not self.texts and not has_images:
            raise ValueError(
                f"features={self.features!r} is for images or texts, but {stream.name} is a table: name the "
                "column of texts (text), or of paths of images (image)"
            )
        if stream.shape is not None and image is not None:
            raise ValueError(f"image is a column of paths, but {stream.name} holds its instances as an array")
        if self.image_size is not None and image is None and not (self.features and has_images):
            raise ValueError(
                f"image_size is for images, but {stream.name} has none: name the column of their paths (image)"
            )
        named = {name: getattr(self, name) for name in ("label", "weight")}
        wanted = {name: [] if column is None else [str(column)] for name, column in named.items()}
        wanted = {"bag": self.bag_columns(stream), **wanted, "text": self.texts}
        for option, columns in wanted.items():
            for column in columns:
                if column not in stream.schema.names:
                    raise ValueError(f"{option}: {missing_column_error(stream.name, column, stream.schema.names)}")

    def given_options(self) -> list[str]:
        """Return the names of the options that are given, except the tolerance.

        Returns
        -------
        list of str
            The names.
        """
        values = {option.name: getattr(self, option.name) for option in fields(self)[:-1]}
        return [name for name, value in values.items() if value not in (None, False, "error")]


def refuse_empty_path(given: Any, option: str) -> None:
    """Refuse an empty text, which would be the path of the current folder."""
    if isinstance(given, str) and not given.strip():
        raise ValueError(f"{option} is an empty text: the path of a file or folder would be right")


def check_names(given: Any, option: str) -> list[str]:
    """One name of a column, or several.

    >>> check_names("state", "bag"), check_names(["state", "county"], "bag")
    (['state'], ['state', 'county'])
    """
    several = [given] if isinstance(given, NAME) else given
    is_list = isinstance(several, Sequence) and not isinstance(several, str)
    if not is_list or not all(isinstance(name, NAME) for name in several):
        raise TypeError(f"{option} must be the name of a column, or a list of names, got {given!r}")
    if not several:
        raise ValueError(f"{option} is an empty list: name at least one column")
    found = [str(name) for name in several]
    if len(set(found)) < len(found):
        raise ValueError(f"{option} names a column twice: {found}")
    return found


def check_class_columns(given: Any) -> Sequence[Hashable]:
    """The columns that are classes: at least two."""
    listed = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(listed, list | tuple) or not all(isinstance(name, NAME) for name in listed):
        raise TypeError(f"classes must be a list of names of columns, such as ['no', 'yes'], got {given!r}")
    if len(set(listed)) < max(2, len(listed)):
        raise ValueError(f"classes must be at least two names that differ, got {listed}")
    return listed
