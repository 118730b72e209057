"""Names of users in plots and tables."""


def shorten(name: object, most: int = 18) -> str:
    r"""A name that fits a plot: on one line, and cut if it is long.

    Parameters
    ----------
    name : object
        Any name; it is written as ``str`` writes it.
    most : int, default=18
        How many characters remain.

    Returns
    -------
    str

    Examples
    --------
    >>> shorten("a name that goes on"), shorten("two\nlines")
    ('a name that goes…', 'two lines')
    """
    line = " ".join(str(name).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
