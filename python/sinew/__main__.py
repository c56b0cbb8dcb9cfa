"""The program ``sinew``: ``python -m sinew`` is the command line."""

import sys

from ._sinew import program


def main() -> int:
    """Runs the command line of this process and returns its exit status."""
    return program(["sinew", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
