"""Text on its way to the terminal: it cannot steer it, and can be shown in any encoding."""

import os
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

_HARMLESS = "\n\t"
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control and format characters, half characters, separators of lines
_IN_WORDS = "\u200c\u200d\u00ad"  # format characters that words of many languages have


def visible(text: str) -> str:
    r"""The text with characters that would steer a terminal written out: a class may be named ``\x1b[2J``.

    >>> print(visible("a\x1b[31mb\x07 \u202eabc"))
    a\x1b[31mb\x07 \u202eabc
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character in _HARMLESS or character in _IN_WORDS or unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape", errors="surrogatepass").decode("ascii")


@contextmanager
def any_encoding() -> Iterator[None]:
    r"""Characters that the terminal's encoding lacks are written out (``\u03bb``) instead of ending a command."""
    streams = [stream for stream in (sys.stdout, sys.stderr) if hasattr(stream, "reconfigure")]
    before = [stream.errors for stream in streams]
    for stream in streams:
        stream.reconfigure(errors="backslashreplace")
    try:
        yield
        for stream in streams:
            stream.flush()
    finally:
        for stream, errors in zip(streams, before, strict=True):
            if not stream.closed:
                stream.reconfigure(errors=errors)


def drop_output() -> None:
    """Where nobody reads the output any more, as in ``llpgan --help | true``: what is left of it goes nowhere."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123, a device
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
