"""How the project's scripts read their command line, and print."""

from __future__ import annotations

import argparse
import io
import sys


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
