"""Larger images: 1,200 emoji of a Debian font in four classes, rendered at 64 and 128 pixels, by the default.

960 of them are in 60 random bags of 16; the error and the log loss are those of the other 240. The font is
``NotoColorEmoji.ttf`` of the package fonts-noto-color-emoji, in a folder of ``LLPGAN_DATA``.
"""

import sys
import time
from collections.abc import Iterable
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from sklearn.metrics import log_loss

from benchmarks.rows import RESULTS, Row, describe_versions, find_data_folder, measure_rows
from llpgan import DLLP, LLPGAN, CountLLP
from llpgan.bags import Bags

FONT, STRIKE = "NotoColorEmoji.ttf", 109  # the only size of its bitmaps
N_IMAGES, N_TRAINED, BAG_SIZE = 1_200, 960, 16
METHODS: dict[str, Any] = {"CountLLP": CountLLP, "DLLP": DLLP, "LLPGAN": LLPGAN}
_PEOPLE = ((0x1F466, 0x1F487), (0x1F600, 0x1F64F), (0x1F910, 0x1F93E), (0x1F970, 0x1F97A), (0x1F9CD, 0x1F9DF))
_NATURE = ((0x1F330, 0x1F37F), (0x1F400, 0x1F43F), (0x1F950, 0x1F96F), (0x1F980, 0x1F9AE), (0x1F9C0, 0x1F9CB))
_THINGS = ((0x1F380, 0x1F3F0), (0x1F488, 0x1F573), (0x1F576, 0x1F5FF), (0x1F680, 0x1F6FF), (0x1F9E0, 0x1FAFF))
_TOOLS = (0x1F33E, 0x1F373, 0x1F393, 0x1F3A4, 0x1F3A8, 0x1F3EB, 0x1F3ED, 0x1F4BB, 0x1F4BC, 0x1F527, 0x1F52C)


def run() -> list[Row]:
    cells = product(("DLLP", "CountLLP"), (64,), (0,))
    return measure_rows(RESULTS / "emoji.jsonl", ("method", "pixels", "seed"), cells, measure)


def measure(method: str, pixels: int, seed: int) -> Row:
    images, labels = emoji(pixels, np.random.default_rng(seed))
    trained, unseen = slice(N_TRAINED), slice(N_TRAINED, None)
    bags = Bags.from_labels(images[trained], labels[trained], groups=np.arange(N_TRAINED) // BAG_SIZE)
    model = METHODS[method](random_state=seed, verbose=True)
    started = time.process_time()
    model.fit_bags(bags)
    seconds = time.process_time() - started
    predicted = model.predict_proba(images[unseen])
    sure = predicted**model.temperature_
    return {
        "train_images": N_TRAINED,
        "test_images": N_IMAGES - N_TRAINED,
        "epochs": len(model.history_),
        "accuracy": round(100 * float((model.classes_[predicted.argmax(1)] == labels[unseen]).mean()), 1),
        "log_loss": round(float(log_loss(labels[unseen], predicted)), 3),
        "log_loss_uncalibrated": round(float(log_loss(labels[unseen], sure / sure.sum(1, keepdims=True))), 3),
        "temperature": round(model.temperature_, 2),
        "cpu_seconds": round(seconds),
        **describe_versions(),
    }


def emoji(pixels: int, rng: np.random.Generator) -> tuple[NDArray[np.uint8], NDArray[np.str_]]:
    """Images as bytes ``(N, 3, pixels, pixels)`` and their classes, in a random order."""
    font = ImageFont.truetype(str(find_data_folder(FONT) / FONT), STRIKE)
    groups = {
        "people": _people(),
        "nature": _characters(_NATURE),
        "things": _characters(_THINGS),
        "flags": _flags(),
    }
    found: list[tuple[NDArray[np.uint8], str]] = []
    for name, texts in groups.items():
        seen = set()
        for text in texts:
            image = _render(text, font, pixels)
            if image is not None and (content := image.tobytes()) not in seen:
                seen.add(content)
                found.append((image, name))
    chosen = rng.permutation(len(found))[:N_IMAGES]
    return np.stack([found[i][0] for i in chosen]), np.array([found[i][1] for i in chosen])


def _characters(ranges: Iterable[tuple[int, int]]) -> list[str]:
    return [chr(code) for first, last in ranges for code in range(first, last + 1)]


def _people() -> Iterable[str]:
    """Single characters, and people with a job, which are a person, a joiner and a tool."""
    at_work = ("\u200d".join(map(chr, pair)) for pair in product((0x1F468, 0x1F469, 0x1F9D1), _TOOLS))
    return chain(_characters(_PEOPLE), at_work)


def _flags() -> Iterable[str]:
    letters = range(0x1F1E6, 0x1F200)
    return (chr(first) + chr(second) for first, second in product(letters, letters))


def _render(text: str, font: ImageFont.FreeTypeFont, pixels: int) -> NDArray[np.uint8] | None:
    """The emoji on white, or None if the font has none: it then draws nothing, or more than one."""
    if font.getlength(text) > 1.5 * font.getlength("\U0001f600"):
        return None
    page = Image.new("RGBA", (136, 128), (255, 255, 255, 255))
    ImageDraw.Draw(page).text((0, 0), text, font=font, embedded_color=True)
    image = np.asarray(page.convert("RGB").resize((pixels, pixels)))
    return None if image.std() < 1 else image.transpose(2, 0, 1)


if __name__ == "__main__":
    measure_rows(
        RESULTS / "emoji.jsonl", ("method", "pixels", "seed"), [(sys.argv[1], int(sys.argv[2]), 0)], measure
    )
