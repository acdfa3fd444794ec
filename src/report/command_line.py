"""How the project's scripts read their command line, print, and end."""

import argparse
import io
import os
import sys
from contextlib import contextmanager
from functools import wraps
from pathlib import Path


class ResultsError(Exception):
    """One line for the user: what is wrong with the results, and what to do."""


def one_line(name: str):
    """Decorates main(): returns 0, or prints one line and returns 1 if results or files cannot be read or written."""
    def decorated(main):
        @wraps(main)
        def ended(arguments: list[str] | None = None) -> int:
            try:
                main(arguments)
            except (ResultsError, OSError) as error:
                print(f"{name}: {error}", file=sys.stderr)
                return 1
            return 0
        return ended
    return decorated


def write_whole(path: Path, data: bytes) -> None:
    """A file as a whole or not at all: a full disk leaves what was there. Without data nothing is left: before the
    work this tells whether it can be written."""
    plain = path.is_file() or path.is_dir() or not path.exists()  # a pipe or a device takes no draft
    draft = path.with_name(f"{path.name}.{os.getpid()}.new") if plain else path
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        if plain or data:
            draft.write_bytes(data)
        if plain and data:
            draft.replace(path)
    except OSError as error:
        raise ResultsError(f"cannot write {path}: {error.strerror}; choose another --out, or free some space")
    finally:
        if plain:
            draft.unlink(missing_ok=True)


@contextmanager
def needed_by(what: str, otherwise: str = ""):
    """Imports without which a script ends, and says what to install: into the project, or beside the package."""
    try:
        yield
    except ModuleNotFoundError as error:
        listed = Path(__file__).resolve().parents[2] / "requirements.txt"
        how = "-r requirements.txt into .venv" if listed.exists() else "'reductio[report]'"
        sys.exit(f"{what} needs the Python package {error.name}: pip install {how}{otherwise}")


class WhileRead(io.FileIO):
    """Standard output, for as long as somebody reads it. Whoever closes the pipe, as `| head` does, has read what was
    wanted; what goes into files must not be lost with it."""

    def write(self, data) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return len(data)


class Parser(argparse.ArgumentParser):
    """An error is one line, as everywhere in the project; --help has the usage. From the parsing on, what is printed
    into a closed pipe is no error."""

    def print_usage(self, file=None) -> None:
        pass

    def parse_args(self, *args, **kwargs):
        out = sys.stdout
        if out and out is sys.__stdout__:  # a test that captures has another
            raw = io.BufferedWriter(WhileRead(out.fileno(), "w", closefd=False))
            sys.stdout = io.TextIOWrapper(raw, encoding=out.encoding, errors=out.errors,
                                          line_buffering=out.line_buffering or out.write_through)
        return super().parse_args(*args, **kwargs)
