"""How the project's scripts read their command line."""

from __future__ import annotations

import argparse


class Parser(argparse.ArgumentParser):
    """An error is one line, as everywhere in the project; --help has the usage."""

    def print_usage(self, file=None) -> None:
        pass
