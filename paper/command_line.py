"""How the project's scripts read their command line, print, and end."""

import argparse
import signal
import sys
from contextlib import contextmanager
from functools import wraps


class ResultsError(Exception):
    """One line for the user: what is wrong with the results, and what to do."""


def one_line(name: str):
    """Decorates main(): returns 0, or prints one line and returns 1 if results or files cannot be read or written."""
    def of(main):
        @wraps(main)
        def ended(arguments: list[str] | None = None) -> int:
            try:
                main(arguments)
            except (ResultsError, OSError) as error:
                print(f"{name}: {error}", file=sys.stderr)
                return 1
            return 0
        return ended
    return of


@contextmanager
def needed_by(what: str, otherwise: str = ""):
    """Imports without which a script ends, and says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        sys.exit(f"{what} needs the Python package {error.name}: pip install -r requirements.txt into .venv{otherwise}")


class Parser(argparse.ArgumentParser):
    """An error is one line, as everywhere in the project; --help has the usage. Whoever closes the pipe, as `| head`
    does, has read what was wanted, and the script ends."""

    def print_usage(self, file=None) -> None:
        pass

    def parse_args(self, *args, **kwargs):
        if sys.stdout is sys.__stdout__:  # a test that captures has another
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        return super().parse_args(*args, **kwargs)
