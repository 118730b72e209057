"""How this process was started: alone, or with others by torchrun or ``fabric run``, which say so in variables."""

import os


def processes() -> tuple[int, int]:
    """How many processes were started together, and how many of them on this machine."""
    return int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("LOCAL_WORLD_SIZE", 1))


def is_first_process() -> bool:
    """Whether this process is the one of them that writes files and speaks."""
    return int(os.environ.get("RANK", 0)) == 0
