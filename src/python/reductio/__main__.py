"""The command line: python -m reductio list"""

from __future__ import annotations

import sys

from ._library import Error, library
from ._variants import add_to_program, load_files_by_program, peers


def main() -> int:
    try:
        add_to_program(peers())
        load_files_by_program()
    except Error as error:
        print(f"reductio: {error}", file=sys.stderr)
        return 1
    import ctypes
    words = [word.encode() for word in ["reductio", *sys.argv[1:]]]
    argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    sys.stdout.flush()
    return library().reductio_main(len(words), argv, None)


if __name__ == "__main__":
    sys.exit(main())
