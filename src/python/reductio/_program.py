"""The command line from Python: each call in a process of its own, which the caller's state does not reach."""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import subprocess
import sys
import warnings
from typing import Any, Sequence

from . import _arrays, _variants
from ._library import Error, library, main


def call(words: Sequence[str], variants: Sequence[_variants.Variant]) -> int:
    """Runs `reductio WORDS...` with these variants besides the program's and the package's. Its output goes to
    sys.stdout and sys.stderr. Returns the exit code of a run that has ended; raises Error with what was wrong with the
    request."""
    library()  # what is wrong with it is told here
    if _variants.loading():
        raise Error(f"{_variants.loading()} calls reductio while it is loaded; put the call under "
                    "if __name__ == \"__main__\":")
    if _arrays.cuda_has_started():
        return _Child(_spawned(list(words), list(variants))).wait()
    return _Child(_forked(list(words), list(variants))).wait()


def _work(words: list[str], variants: list[_variants.Variant]) -> tuple[int, str]:
    try:
        names = {v.id for v in variants}
        _variants.add_to_program([*variants, *(v for v in _variants.peers() if v.id not in names)])
        _variants.load_files_by_program()
        return main(words)
    except Error as error:
        return 1, f"reductio: {error}"


def _inherits() -> bool:
    """Whether what Python prints goes where the process prints."""
    try:
        return sys.stdout.fileno() == 1 and sys.stderr.fileno() == 2
    except (AttributeError, OSError, ValueError):
        return False


def _forked(words, variants):
    """From a process without CUDA. The child has our memory, so functions need not be importable."""
    ends = [os.pipe() for _ in range(3)]  # what it says at its end, its output, its errors
    inherits = _inherits()
    sys.stdout.flush(), sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, which do not go along and are not needed
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for reading, _ in ends:
                os.close(reading)
            if not inherits:
                os.dup2(ends[1][1], 1)
                os.dup2(ends[2][1], 2)
            for stream, fd in (("stdout", 1), ("stderr", 2)):
                setattr(sys, stream, os.fdopen(os.dup(fd), "w", buffering=1))
            code, error = _work(words, variants)
            sys.stdout.flush(), sys.stderr.flush()
            os.write(ends[0][1], error.encode())
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    for _, writing in ends:
        os.close(writing)
    return pid, [reading for reading, _ in ends]


def _spawned(words, variants):
    """A new interpreter, where a forked process could not use CUDA."""
    try:
        import cloudpickle
        work = cloudpickle.dumps((words, variants))
    except ImportError:
        if variants:
            raise Error("CUDA has started in this process, and no process that is forked from it can use CUDA; install "
                        "cloudpickle, by which functions are sent to a new one, or call reductio before CUDA is "
                        "used") from None
        work = pickle.dumps((words, variants))
    ends = [os.pipe() for _ in range(3)]
    inherits = _inherits()
    program = (f"import sys; sys.path[:] = {sys.path!r}; from reductio import _program; "
               f"_program.spawned({ends[0][1]})")
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, pass_fds=[ends[0][1]],
                               stdout=None if inherits else ends[1][1], stderr=None if inherits else ends[2][1])
    process.stdin.write(work)
    process.stdin.close()
    for _, writing in ends:
        os.close(writing)
    process.returncode = 0  # waited for below
    return process.pid, [reading for reading, _ in ends]


def spawned(to: int) -> None:
    words, variants = pickle.loads(sys.stdin.buffer.read())
    code, error = _work(words, variants)
    os.write(to, error.encode())
    os._exit(code)


class _Child:
    """A process that runs the command line, and what it says."""

    def __init__(self, started):
        self.pid, (self.last, self.out, self.err) = started

    def wait(self) -> int:
        """Passes its output on until it ends. An interrupt is the program's to act upon."""
        selector, said, interrupted = selectors.DefaultSelector(), b"", False
        for fd in (self.last, self.out, self.err):
            selector.register(fd, selectors.EVENT_READ)
        while selector.get_map():
            try:
                for key, _ in selector.select():
                    read = os.read(key.fd, 1 << 16)
                    if not read:
                        selector.unregister(key.fd)
                        os.close(key.fd)
                    elif key.fd == self.last:
                        said += read
                    else:
                        stream = sys.stdout if key.fd == self.out else sys.stderr
                        stream.write(read.decode(errors="replace"))
                        stream.flush()
            except KeyboardInterrupt:
                interrupted = True
                try:
                    os.kill(self.pid, signal.SIGINT)  # in a notebook it is sent to the kernel alone
                except ProcessLookupError:
                    pass
        _, status = os.waitpid(self.pid, 0)
        if interrupted:
            raise KeyboardInterrupt  # what was measured until then is kept, as the command line keeps it
        if os.WIFSIGNALED(status):
            raise Error(f"the process that ran this was ended by signal {os.WTERMSIG(status)}")
        error = said.decode(errors="replace").strip()
        if error:
            raise Error(error[len("reductio: "):] if error.startswith("reductio: ") else error)
        return os.WEXITSTATUS(status)


def words_of(options: dict[str, Any]) -> list[str]:
    """Keyword arguments as options of the command line: sizes="2^20" as --sizes 2^20, until_decided=True as
    --until-decided, types=["f32", "i32"] as --types f32,i32."""
    out = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(option)
            continue
        if isinstance(value, dict):
            value = ",".join(f"{key}={chosen}" for key, chosen in value.items())
        elif isinstance(value, (list, tuple, set, range)):
            value = ",".join(map(str, value))
        out.append(f"{option}={value}")
    return out


def split(variants: Sequence[Any]) -> tuple[list[str], list[_variants.Variant]]:
    """Names as the command line takes them, and the functions among them."""
    ids, functions = [], []
    for variant in variants:
        if isinstance(variant, _variants.Variant):
            ids.append(variant.id)
            functions.append(variant)
        elif isinstance(variant, (str, os.PathLike)):
            ids.append(os.fspath(variant))
            known = _variants.registered().get(ids[-1].split(":")[0])
            if known is not None:
                functions.append(known)
        else:
            name = getattr(variant, "__name__", repr(variant))
            raise TypeError(f"{name} is not a variant: declare it with @reductio.variant(\"mine/{name}\", types=[...]), or "
                            "name one of 'python -m reductio list'")
    return ids, functions
