"""reductio: how fast can a GPU add up an array? Reductions in Python beside Thrust, CUB and hand-written kernels.

    import reductio, torch

    @reductio.variant("mine/sum", types=["f32", "i32"])
    def my_sum(x, out, stream):
        torch.sum(x, dim=0, out=out)

    reductio.verify(my_sum)                                                # is it right?
    table = reductio.compare("cub/sum", my_sum, sizes="2^10:2^28")         # is it faster?
    table.plot()
    reductio.run("comparison", variants=["cub/sum", my_sum], out="results")
    total = reductio.sum(x)                                                # our own sum, on the GPU

`python -m reductio` is the command line. docs/python.md describes both.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterable

from ._arrays import Array, Stream
from ._exact import Partial
from ._library import Error
from ._program import call as _call, split as _split, words_of as _words_of
from ._sum import exact_moments, exact_sum, exact_sum_of_squares, mean, norm, sum
from ._variants import Variant, variant

__all__ = ["Array", "Error", "Partial", "Stream", "Variant", "compare", "exact_moments", "exact_sum", "exact_sum_of_squares",
           "mean", "norm", "run", "sum", "variant", "verify"]

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import CompareOptions, RunOptions, VerifyOptions
    from ._table import Table


def __getattr__(name: str) -> Any:
    if name == "Table":  # a DataFrame, and pandas is imported when one is needed
        from ._table import Table
        return Table
    if name == "__version__":
        from ._library import library
        return library().reductio_version().decode()
    raise AttributeError(f"module 'reductio' has no attribute '{name}'")


def verify(*variants: "Variant | str", quiet: bool = False, **options: Unpack[VerifyOptions]) -> bool:
    """Runs the battery of each variant, as `reductio verify` does: exact sums, sizes, alignments, repeated calls,
    streams.

    `variants`: functions declared by @reductio.variant, ids, or files of plug-ins. `options`: those of the command
    line, as tier="quick", sizes="2^20", types=["f32"]. Prints what it finds. Returns whether all is right. Raises
    Error if the request is wrong."""
    ids, functions = _split(variants)
    if not ids:
        raise TypeError("reductio.verify takes the variants to verify")
    files = [word for word in ids if _is_file(word)]
    words = [f"--plugin={file}" for file in files if len(ids) > 1]
    words.append(f"--variants={files[0] if files and len(ids) == 1 else _regex(i for i in ids if i not in files)}")
    if quiet:
        words.append("--quiet")
    code = _call(["verify", *words, *_words_of(options)], functions)
    return code == 0


def compare(base: "Variant | str", *variants: "Variant | str", show: bool = True,
            **options: Unpack[CompareOptions]) -> Table:
    """Measures variants beside each other, in turn, and says which is faster, as `reductio compare` does.

    `base`, `variants`: functions declared by @reductio.variant, ids ("cub/sum", "levels/naive:block=128"), or files of
    plug-ins. `options`: those of the command line, as sizes="2^10:2^28", types=["f32"], modes="replay,end_to_end",
    cache="warm", until_decided=True, max_samples=48. `show`: whether to print the table.

    With a function in Python the timing modes are `replay`, its kernels alone, and `end_to_end`, each call from
    Python until the result is in host memory. Returns a Table: a pandas DataFrame if pandas is installed, else a list of
    dictionaries, with plot(). Columns, among others: `variant`, `element_type`, `n`, `timing_mode`, `base_time_s` and
    `time_s` (medians), `ratio` (how many times as fast as the base), `ratio_low`, `ratio_high`, `verdict`, and `reason`
    where there is no ratio. Raises Error if nothing could be compared; with fail_if_slower=True also unless each row is
    FASTER or SAME, and the Error's `table` has the rows."""
    ids, functions = _split([base, *variants])
    with tempfile.TemporaryDirectory(prefix="reductio-") as folder:
        file, printed = os.path.join(folder, "comparison.json"), _Tee(sys.stdout if show else None)
        with contextlib.redirect_stdout(printed):
            code = _call(["compare", *ids, f"--json-to={file}", *_words_of(options)], functions)
        if not os.path.exists(file):
            raise Error("nothing was compared")
        from ._table import read
        table = read(file, printed.getvalue().rstrip("\n"), shown=show)
    reasons = [row["reason"] for row in table.rows() if row["ratio"] is None]
    if len(reasons) == len(table.rows()):
        raise Error("nothing could be compared" + (f": {reasons[0]}" if reasons else ""))
    if code and options.get("fail_if_slower"):
        error = Error(_failing(table.rows()))
        error.table = table
        raise error
    return table


def run(*experiments: str, variants: Iterable["Variant | str"] | None = None, out: "str | Path" = "out/results",
        **options: Unpack[RunOptions]) -> Path:
    """Runs experiments and writes their rows as CSV, as `reductio run` does.

    `experiments`: as "comparison"; `python -m reductio list experiments` has them. `variants`: ids or functions; by
    default all that the experiment measures. `out`: results go to OUT/<machine>/<experiment>.csv. `options`: those of
    the command line, as types="f32", sizes="2^20:2^28", quick=True. Returns `out`. Raises Error if something failed."""
    words, functions = ["run", *experiments, f"--out={os.fspath(out)}"], []
    if variants is not None:
        ids, functions = _split(list(variants))
        words += [f"--plugin={word}" for word in ids if _is_file(word)]
        words.append(f"--variants={_regex(i for i in ids if not _is_file(i))}")
    code = _call([*words, *_words_of(options)], functions)
    if code:
        raise Error("some rows failed; their reasons are in the CSV files in " + os.fspath(out))
    return Path(out)


def _failing(rows: "list[dict]") -> str:
    """Why a comparison that fails if something is slower fails: the rows that are, else those without a verdict."""
    slower = [row for row in rows if row["verdict"] == "SLOWER"]
    open_ = [row for row in rows if row["ratio"] is None or row["verdict"] == "UNDECIDED"]
    told = [f"{row['variant']} at n = {row['n']}, {row['element_type']}, {row['timing_mode']}"
            + (f": {row['ratio']:.3g} times as fast" if row["ratio"] is not None else f": {row['reason']}")
            for row in slower or open_]
    return f"{'SLOWER than' if slower else 'UNDECIDED beside'} {rows[0]['base']}: " + "; ".join(told)


def _regex(ids: Iterable[str]) -> str:
    return "^(" + "|".join(re.sub(r"([.+])", r"\\\1", name) for name in ids) + ")$"


def _is_file(word: str) -> bool:
    return word.endswith((".py", ".cu", ".cpp", ".cc", ".cxx", ".c", ".so"))


class _Tee(io.StringIO):
    """Keeps what is written, and passes it on."""

    def __init__(self, to):
        super().__init__()
        self._to = to

    def write(self, text):
        if self._to is not None:
            self._to.write(text)
        return super().write(text)

    def flush(self):
        if self._to is not None:
            self._to.flush()

    def fileno(self):
        raise OSError("what goes here is kept")
