"""Words that are the same in every process."""

import re

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def without_addresses(text: str) -> str:
    """The representation of an object without its place in memory, which differs each time.

    >>> without_addresses("<bound method Flip.half of <Flip object at 0x7f31d2>>")
    '<bound method Flip.half of <Flip object>>'
    """
    return _ADDRESS.sub("", text)
