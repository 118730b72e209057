"""``python -m reproduction EXPERIMENT [options]``; ``python -m reproduction get DATASET`` fetches data."""

import sys

from reproduction.commands import main

sys.exit(main(sys.argv[1:]))
