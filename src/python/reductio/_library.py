"""The program as a shared library, called by ctypes; the structures of reductio/plugin.h."""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int64, c_uint32, c_uint64,
                    c_void_p)
from pathlib import Path

PLUGIN_VERSION = 2
GPU, CPU = 1, 2
ON_DEVICE, ON_HOST = 0, 2
OPERATIONS = {"sum": 1, "sum_of_squares": 2, "moments": 4, "wide_sum": 8, "row_sums": 16, "column_sums": 32,
              "segment_sums": 64}
AXES = {"row_sums": 1, "column_sums": 0}
TYPES = {"i8": 1, "i32": 2, "i64": 4, "f16": 8, "bf16": 16, "f32": 32, "f64": 64}
REPEATS = {"may_differ": 0, "same_per_shape": 1, "same": 2}
# The type of a result, by that of the elements; of a wide sum in the second table.
RESULTS = {"i8": "i32", "f16": "f32", "bf16": "f32"}
WIDE = {"i8": "i64", "i32": "i64", "f32": "f64"}
ELEMENT_BYTES = {"i8": 1, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}  # bytes


class Error(RuntimeError):
    """What reductio says is wrong, in one line. `table`: what was compared all the same, or None."""
    table = None


class Setting(Structure):
    _fields_ = [("name", c_char_p), ("values", c_char_p), ("standard", c_char_p)]


class Problem(Structure):
    _fields_ = [("variant", c_void_p), ("operation", c_uint32), ("type", c_uint32), ("n", c_uint64),
                ("settings", POINTER(c_char_p)), ("workspace", c_void_p), ("workspace_bytes", c_uint64),
                ("rows", c_uint64), ("columns", c_uint64), ("pitch", c_uint64), ("segments", c_uint64),
                ("offsets", c_void_p)]


# Functions that return text: an address of bytes that Python keeps, or None.
Prepare = CFUNCTYPE(c_void_p, POINTER(Problem), POINTER(c_void_p))
Enqueue = CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)
Finish = CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)
Destroy = CFUNCTYPE(None, c_void_p)
Number = CFUNCTYPE(c_uint64, POINTER(Problem))


class Entry(Structure):
    """reductio_variant"""
    _fields_ = [("id", c_char_p), ("title", c_char_p), ("device", c_uint32), ("operations", c_uint32),
                ("types", c_uint32), ("result", c_uint32), ("repeats", c_uint32), ("consumes_input", c_uint32),
                ("settings", POINTER(Setting)), ("setting_count", c_uint32), ("workspace_bytes", Number),
                ("longest_chain", Number), ("prepare", Prepare), ("enqueue", Enqueue), ("finish", Finish),
                ("destroy", Destroy), ("data", c_void_p)]


class TableOfVariants(Structure):
    _fields_ = [("version", c_uint32), ("count", c_uint32), ("variants", POINTER(POINTER(Entry)))]


Load = CFUNCTYPE(c_void_p, POINTER(Entry))
LoadFile = CFUNCTYPE(c_void_p, c_char_p)

_library = None


def library_file() -> Path:
    """$REDUCTIO_LIBRARY, else the library beside this file, where the build and a wheel put it."""
    named = os.environ.get("REDUCTIO_LIBRARY")
    # Not resolved: in a build folder this file is a link into the sources.
    return Path(named) if named else Path(__file__).parent / "libreductio.so"


def library() -> ctypes.CDLL:
    global _library
    if _library is not None:
        return _library
    file = library_file()
    if not file.exists():
        raise Error(f"{file} is not there: build it (cmake --build build --target reductio) and set PYTHONPATH=build/python, "
                    "or install the package (pip install .)")
    try:
        loaded = ctypes.CDLL(str(file))
    except OSError as error:
        raise Error(f"cannot load {file}: {error}") from None
    loaded.reductio_main.argtypes = [c_int, POINTER(c_char_p), POINTER(c_char_p)]
    loaded.reductio_version.restype = c_char_p
    loaded.reductio_has.argtypes = [c_char_p]
    loaded.reductio_add.argtypes = [POINTER(TableOfVariants), c_char_p, Load, c_int]
    loaded.reductio_add.restype = c_char_p
    loaded.reductio_load_python_by.argtypes = [LoadFile]
    loaded.reductio_load_python_by.restype = None
    for total in (loaded.reductio_sum, loaded.reductio_exact_sum, loaded.reductio_exact_sum_of_squares,
                  loaded.reductio_exact_moments):
        total.argtypes = [c_uint32, c_void_p, c_uint64, c_void_p, c_void_p]
        total.restype = c_char_p
    loaded.reductio_along_axis.argtypes = [c_uint32, c_uint32, c_void_p, *[c_uint64] * 4, c_void_p, c_void_p]
    loaded.reductio_along_axis.restype = c_char_p
    double, words = POINTER(c_double), POINTER(c_int64)
    loaded.reductio_exact_rows.argtypes = [c_void_p, c_uint64, c_uint64, c_uint32, c_uint32, c_uint32, double, double]
    loaded.reductio_exact_rows.restype = c_char_p
    loaded.reductio_exact_add.argtypes = [words, c_void_p, c_uint64, c_uint32, c_int, c_uint32]
    loaded.reductio_exact_add.restype = c_char_p
    loaded.reductio_exact_merge.argtypes = [words, words]
    loaded.reductio_exact_merge.restype = None
    loaded.reductio_exact_rounded.argtypes = [words, c_uint32]
    loaded.reductio_exact_rounded.restype = c_double
    _library = loaded
    if sys.executable:  # what `report` and `plot --out` are drawn by
        os.environ["REDUCTIO_PYTHON"] = sys.executable
    return loaded


_texts: list = []


def address_of(text: str) -> int:
    """Of the text as C's, which stays until 64 more were asked for."""
    kept = ctypes.create_string_buffer(text.encode())
    _texts.append(kept)
    del _texts[:-64]
    return ctypes.addressof(kept)


def main(words: list[str]) -> tuple[int, str]:
    """Runs a command line in this process, once: its exit code, and what it says is wrong."""
    encoded = [word.encode() for word in ["reductio", *words]]
    complaint = c_char_p()
    argv = (c_char_p * (len(encoded) + 1))(*encoded, None)
    code = library().reductio_main(len(encoded), argv, ctypes.byref(complaint))
    return code, (complaint.value or b"").decode(errors="replace")
