"""The model card: what a saved model is, for people, in Markdown."""

import re

from llpgan.estimators.base import LLPClassifier
from llpgan.estimators.settings_in_words import method_in_a_line, settings_of
from llpgan.utils.version import __version__

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$])")
_NOT_RECORDED = """\
## Training data and quality

Not recorded: the model was saved without them."""
_WHERE = """ `model.report("report.html", bags)` tells them, and so does the
card of a model that `llpgan fit` has saved."""
_OF_BAGS = """\
- The model learned from class proportions of bags, not from labels. Errors on single instances cancel within a
  bag, so a small bag error does not prove that single predictions are right. Check some of them by labels.
"""
_LIMITS = """\
- It expects instances like those that it learned from. How well it does on others, and whether it treats groups
  of people alike, was not measured unless this card says so.
"""
_NOT_JUDGED = "How often it is right was not measured: check some predictions by labels."
_USE = """\
## Use

```python
import llpgan

model = llpgan.load("path/of/this/folder")  # runs no code from the folder
model.predict_proba(rows)
```
"""


def model_card(model: LLPClassifier, told: str | None = None) -> str:
    """Describe a trained model in Markdown.

    Parameters
    ----------
    model : LLPClassifier
        The model.
    told : str, default=None
        Sections on the training data and on how good the model is. None means that they say that nothing is known.

    Returns
    -------
    str
        The card.
    """
    method, classes = type(model).__name__, _names(model.classes_.tolist())
    head = f"# Model card: {method}\n\n{method_in_a_line(model)} Saved by llpgan {__version__}.\n"
    task = f"The class of a single instance, one of {classes}, and the probability of each. {_input(model)}"
    own = getattr(model, "learns_from", None)
    data = f"{_NOT_RECORDED}{_WHERE if own is None else ''}\n" if told is None else told
    return "\n".join([head, f"## What it predicts\n\n{task}\n", _settings(model), data, _limits(own), _USE])


def _limits(own: str | None) -> str:
    first = _OF_BAGS if own is None else f"- The model learned from {own}, not from labels. {_NOT_JUDGED}\n"
    return f"## Limits\n\n{first}{_LIMITS}"


def plain(text: object) -> str:
    r"""A name of the user's as it is: without meaning in Markdown, and on one line.

    >>> print(plain("a|b <i>"))
    a\|b \<i\>
    """
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def _names(names: list[object], most: int = 20) -> str:
    shown = ", ".join(map(plain, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _input(model: LLPClassifier) -> str:
    encoder, shape = model.encoder_, model.instance_shape_
    if encoder is not None and encoder.features is not None:
        return f"It takes rows of a table with the columns {_names(list(encoder.positions))}."
    if len(shape) > 1:
        return f"It takes images of {' x '.join(map(str, shape))} (channels, height, width)."
    named = getattr(model, "feature_names_in_", None)
    names = "" if named is None else f": {_names(named.tolist())}"
    return f"It takes rows of {shape[0]} numbers{names}."


def _settings(model: LLPClassifier) -> str:
    changed = [setting for setting in settings_of(model) if setting.differs]
    if not changed:
        return "## Settings\n\nAll have their default values.\n"
    rows = [f"| {plain(each.name)} | {plain(each.value)} | {plain(each.usual)} |" for each in changed]
    return "\n".join(
        ["## Settings that were changed\n", "| setting | value | default |", "|---|---|---|", *rows, ""]
    )
