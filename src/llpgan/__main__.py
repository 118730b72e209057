"""``python -m llpgan``: the command line."""

import sys

from llpgan.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
