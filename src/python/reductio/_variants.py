"""Functions in Python as variants: what is declared of them, and what the program calls."""

from __future__ import annotations

import ast
import ctypes
import functools
import importlib
import importlib.util
import inspect
import math
import os
import re
import sys
import traceback
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Callable, Iterable, Mapping

from . import _arrays
from ._arrays import GUESSES
from ._library import (AXES, CPU, ELEMENT_BYTES, GPU, ON_DEVICE, ON_HOST, OPERATIONS, PLUGIN_VERSION, REPEATS, RESULTS, TYPES,
                       WIDE, Destroy, Enqueue, Entry, Error, Finish, Load, LoadFile, Number, Prepare, Setting,
                       TableOfVariants, address_of, library)

VALUES = {"i8": ctypes.c_int8, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float,
          "f64": ctypes.c_double}


@dataclass
class Variant:
    """A function that is a variant. It can still be called as the function that it was."""
    id: str
    function: Callable
    types: list[str]
    operations: list[str]
    device: str
    arrays: str
    needs: list[str]
    settings: dict[str, list]
    title: str
    repeats: str
    captured: bool
    returns: bool
    prepared: bool
    consumes_input: bool
    file: str
    workspace: int | Callable[[Any], int] = 0
    longest_chain: Callable[[Any], int] | None = None
    peer: bool = False   # the package's own
    ready: bool = False  # its file has run

    def __post_init__(self):
        functools.update_wrapper(self, self.function)  # help, signature and name are the function's

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    def __reduce_ex__(self, protocol):
        """By its name, where a module that can be imported has it under the function's."""
        module, name = (getattr(self.function, a, None) for a in ("__module__", "__qualname__"))
        if module not in (None, "__main__") and getattr(sys.modules.get(module), str(name), None) is self:
            return _by_name, (module, name)
        return super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return f"<reductio variant {self.id}>"

    @property
    def named(self) -> str:
        """The function, as messages call it."""
        return getattr(self.function, "__qualname__", repr(self.function)).split(".")[-1]


def _by_name(module: str, name: str) -> Variant:
    return getattr(importlib.import_module(module), name)


_registered: dict[str, Variant] = {}  # the user's
_peers: dict[str, Variant] = {}       # the package's, which give way to the user's
_into = _registered


def variant(id: str, types: Iterable[str], *, operations: Iterable[str] = ("sum",), device: str | None = None,
            arrays: str | None = None, needs: str | Iterable[str] = (), settings: Mapping[str, Iterable] | None = None,
            title: str | None = None, repeats: str = "may_differ", captured: bool = True, returns: bool = False,
            prepared: bool = False, consumes_input: bool = False, workspace: int | Callable[[Any], int] = 0,
            longest_chain: Callable[[Any], int] | None = None) -> Callable[[Callable], Variant]:
    """Makes a function a variant of reductio.

        @reductio.variant("mine/sum", types=["f32"])
        def my_sum(x, out, stream):
            torch.sum(x, dim=0, out=out)

    The function is given `x`, n elements, and writes its result to `out`: shape (), of moments (2,). On a GPU it puts
    its work onto `stream`, which is the current stream of torch and CuPy already; on a CPU `stream` is None. It returns
    nothing, and waits for nothing.

    Of row_sums and column_sums `x` has the shape (rows, columns), and the function takes `axis`, 1 or 0, by name, as
    numpy has it; of other operations of the same variant it is 0. Of segment_sums it takes `offsets`, an array of i64,
    by name: segment s is x[offsets[s]:offsets[s + 1]]. `out` has a sum for each.

    id          a group and a name: letters, digits and - _ + . @
    types       of the elements: i8, i32, i64, f16, bf16, f32, f64. The result of i8 is an i32, that of f16 and bf16 an
                f32; all others have their own type
    operations  sum, sum_of_squares, moments, wide_sum, row_sums, column_sums, segment_sums
    device      "gpu" or "cpu"; by default that of `arrays`: numpy's are on the CPU, others on the GPU
    arrays      what x and out are: "torch", "cupy", "numba", "jax", "numpy", or "reductio", which speak DLPack and
                __cuda_array_interface__. By default those of the library that the function names
    needs       packages to import before the function runs; without one of them the variant is refused
    settings    {"block": [128, 256]}: the values that its user may choose; the first is the default. The function takes
                them by name
    repeats     "same" or "same_per_shape" if calls on the same input give the same bits
    captured    False: the call waits or allocates, so it cannot be captured in a CUDA graph and is timed end to end
                alone
    returns     True: the function takes `x` alone and returns its result, as JAX does; timed end to end alone
    prepared    True: the function takes a problem (`n`, `type`, `result_type`, `operation`, `gpu`, settings; `shape` of
                x, `axis`, `offsets`) and returns the function that is called; what it allocates lives as long as that
    consumes_input  True: it overwrites x, which is restored before each call
    workspace   bytes of memory, or a function of the problem that returns them; with prepared=True. `problem.workspace`
                is then an array of so many i8, whose place is drawn anew in each context, as those of x and out are
    longest_chain   of a problem: the most additions that an element passes through, which sets the rounding error that
                    is tolerated; by default n

    Raises TypeError for a function with other arguments, reductio.Error for a name that exists."""

    def named(function: Callable) -> Variant:
        made = _made(function)
        known = _into.get(id)
        if known is not None and not _same_function(known.function, function):
            raise Error(f"variant '{id}' already exists, {known.named} of {known.file}; choose another name")
        if _into is _registered and library().reductio_has(id.encode()):
            raise Error(f"the program already has a variant '{id}'; choose another name")
        _into[id] = made
        return made

    def _made(function: Callable) -> Variant:
        if not callable(function):
            raise TypeError(f"reductio.variant('{id}') takes a function, not a {type(function).__name__}")
        if not re.fullmatch(r"[\w.+@-]+/[\w.+@-]+", id, re.ASCII):
            raise Error(f"'{id}' is not a group and a name, as 'mine/sum', of letters, digits and - _ + . @")
        chosen = {name: list(values) for name, values in (settings or {}).items()}
        on = arrays or _arrays.guess(function) or ("numpy" if device == "cpu" else None)
        if on is None and device is None:
            raise Error(f"reductio.variant('{id}') cannot see which arrays {function.__name__} takes; say "
                        "arrays=\"torch\" or another of " + ", ".join(_arrays.LIBRARIES))
        on = on or "reductio"
        _known("arrays", [on], _arrays.LIBRARIES)
        place = device or ("cpu" if on == "numpy" else "gpu")
        _known("device", [place], ("gpu", "cpu"))
        _known("types", types, TYPES)
        _known("operations", operations, OPERATIONS)
        _known("repeats", [repeats], REPEATS)
        if workspace and not prepared:
            raise Error(f"reductio.variant('{id}'): a workspace is the problem's, so say prepared=True, too")
        if on == "numpy" and place == "gpu":
            raise Error(f"reductio.variant('{id}'): numpy has no arrays on a GPU")
        _check_arguments(id, function, ["problem"] if prepared else ["x"] if returns else ["x", "out", "stream"],
                         [] if prepared else [*chosen, *_keywords_of(operations)])
        return Variant(id=id, function=function, types=list(types), operations=list(operations), device=place,
                       arrays=on, needs=_words(needs), settings=chosen, title=title or id,
                       repeats=repeats, captured=captured, returns=returns, prepared=prepared,
                       consumes_input=consumes_input, workspace=workspace, longest_chain=longest_chain,
                       file=_file_of(function))

    types, operations = _words(types), _words(operations)
    named.make = _made  # without registering it
    return named


def _words(words) -> list[str]:
    return [words] if isinstance(words, str) else list(words)


def _keywords_of(operations: Iterable[str]) -> list[str]:
    """What functions of these operations take by name."""
    return [*(["axis"] if any(o in AXES for o in operations) else []),
            *(["offsets"] if "segment_sums" in operations else [])]


def _known(what: str, words: Iterable[str], known: Iterable[str]) -> None:
    for word in words:
        if word not in known:
            raise Error(f"unknown {what} '{word}'; known: {', '.join(known)}")


def _file_of(function) -> str:
    """The file that a command line names to have the function, as seen from here; "" in a notebook."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(function)) or ""
    except TypeError:
        return ""
    if not os.path.isfile(file):
        return ""
    relative = os.path.relpath(file)
    return file if relative.startswith("..") else relative


def _same_function(own, other) -> bool:
    """A cell of a notebook that runs again, a module that is loaded again."""
    place = lambda f: (getattr(f, "__module__", None), getattr(f, "__qualname__", None))
    return place(own) == place(other) and None not in place(own)


def _check_arguments(id: str, function, wanted: list[str], settings: list[str]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a builtin; the first call tells
    try:
        signature.bind(*wanted, **dict.fromkeys(settings))
    except TypeError as error:
        takes = ", ".join([*wanted, *settings])
        raise TypeError(f"reductio.variant('{id}') calls {function.__name__}({takes}), which takes {signature}: "
                        f"{error}") from None


# ---- what the program calls ----

class Plan:
    """One call that is prepared: arrays are wrapped once, so that a repeated call finds them."""

    def __init__(self, v: Variant, problem):
        self.variant = v
        self.pool = None  # the library's, for what captured calls allocate
        described = _described(v, problem)
        self.type, self.n, self.result_type = described.type, described.n, described.result_type
        self.in_shape, self.shape = described.shape, described.out_shape
        self.input_bytes = self.n * ELEMENT_BYTES[self.type]
        self.size = ELEMENT_BYTES[self.result_type] * math.prod(self.shape)
        gpu = _arrays.current_gpu() if v.device == "gpu" else None
        self.device = (_arrays.ON_CPU, 0) if gpu is None else (_arrays.ON_CUDA, gpu)
        self.library = _arrays.library_of(v.arrays, v.device == "gpu")
        if v.device == "gpu" and v.arrays == "torch":
            sys.modules["torch"].cuda.set_device(gpu)
        offsets = self.library.array(_arrays.Array(problem.offsets, (problem.segments + 1,), "i64", self.device)) \
            if problem.offsets else None
        of_shape = {"axis": described.axis, "offsets": offsets}
        self.function = v.function
        self.keywords = _chosen(v, problem) | {name: of_shape[name] for name in _keywords_of(v.operations)}
        if v.prepared:
            with _arrays.side_stream(gpu) as side:
                self.enter(side)
                room = self.library.array(_arrays.Array(problem.workspace or 0, (problem.workspace_bytes,), "i8",
                                                        self.device)) if v.workspace else None
                self.function, self.keywords = v.function(_described(v, problem, gpu=gpu, workspace=room, offsets=offsets)), {}
            if not callable(self.function):
                raise TypeError(f"{v.named} returned a {type(self.function).__name__}, not the function to call")
        if self.keywords:
            self.function = functools.partial(self.function, **self.keywords)
        self.bound: dict = {}
        self.copies: dict[int, int] = {}  # by an input that does not lie as the library needs it: where it is copied to
        self.warm: set[int] = set()
        self.value = None
        self.out = 0

    def bind(self, key):
        """The arrays of one call, as the function takes them."""
        pointer, out, stream = key
        if (pointer or 0) % self.library.alignment and pointer not in self.copies:
            self.copies[pointer] = _arrays.allocate(max(self.input_bytes, 1))
        pointer = self.copies.get(pointer, pointer)
        arrays = [self.library.array(_arrays.Array(pointer or 0, self.in_shape, self.type, self.device))]
        if not self.variant.returns:
            arrays += [self.library.array(_arrays.Array(out or 0, self.shape, self.result_type, self.device)),
                       self.library.stream(stream or 0) if self.variant.device == "gpu" else None]
        if self.variant.device == "gpu" and self.variant.captured and not self.variant.returns:
            self.warm_up((pointer or 0) % 256)
        if len(self.bound) > 256:  # copies of an input that a cold graph reads, and then some
            self.bound.clear()
        self.bound[key] = arrays
        return arrays

    def warm_up(self, offset: int) -> None:
        """A call on other memory that lies alike, once: what a library compiles, loads and tunes at its first call
        could not be captured."""
        if offset in self.warm:
            return
        self.warm.add(offset)
        room, for_result = self.input_bytes + 256, max(self.size, 256)
        with _arrays.side_stream(self.device[1]) as side, _arrays.scratch(room) as x, _arrays.scratch(for_result) as out:
            self.enter(side)
            self.function(self.library.array(_arrays.Array(x + offset, self.in_shape, self.type, self.device)),
                          self.library.array(_arrays.Array(out, self.shape, self.result_type, self.device)),
                          self.library.stream(side))
            _arrays.wait_for(side)  # before its memory goes

    def enter(self, stream) -> None:
        if self.library.now != stream:
            self.library.enter(stream or 0)
            self.library.now = stream

    def call(self, pointer, out, stream):
        key = pointer, out, stream
        arrays = self.bound.get(key)
        captured = self.library.has_pools and _arrays.is_capturing(stream)
        if arrays is not None and not captured:
            self.enter(stream)
            return self.call_with(arrays, key)
        with _arrays.capture_relaxed(self.device[0]):  # the first call may allocate, and a captured one from its pool
            arrays = arrays or self.bind(key)
            self.enter(stream)
            if not captured:
                return self.call_with(arrays, key)
            if self.pool is None:
                self.pool = self.library.take_pool()
            with self.library.allocating_from(self.pool):
                return self.call_with(arrays, key)

    def call_with(self, arrays, key):
        pointer, out, stream = key
        if pointer in self.copies and self.n:
            _arrays.copy_on_gpu(self.copies[pointer], pointer, self.input_bytes, stream)
        if not self.variant.returns:
            returned = self.function(*arrays)
            self.out = out
            if returned is None:
                return None
            raise TypeError(f"{self.variant.named} returned a {type(returned).__name__}; a variant writes its result "
                            "to out and returns nothing, unless it is declared with returns=True")
        if self.variant.device == "gpu":
            _arrays.wait_for(stream)  # the library has streams of its own
        self.value = self.function(*arrays)
        if self.variant.device == "cpu":
            self.write(out)
        return None

    def write(self, result: int) -> None:
        """The returned value to host memory."""
        values = self.value if self.shape else [self.value]
        wanted = math.prod(self.shape)
        if self.value is None or len(values) != wanted:
            raise TypeError(f"{self.variant.named} returned {'nothing' if self.value is None else len(values)}; "
                            f"with returns=True it returns {f'{wanted} values' if self.shape else 'its result'}")
        kind = VALUES[self.result_type]
        if wanted > 2:
            import numpy  # what returns many values has it
            many = numpy.ascontiguousarray(self.value, numpy.dtype(kind))
            ctypes.memmove(result, many.ctypes.data, self.size)
            return
        for i, value in enumerate(values):
            try:
                number = value.item() if hasattr(value, "item") else value
                kind.from_address(result + i * ctypes.sizeof(kind)).value = number
            except (TypeError, ValueError):
                raise TypeError(f"{self.variant.named} returned a {type(value).__name__} that is not one "
                                f"{self.result_type}") from None

    def finish(self, result, stream):
        if self.variant.returns:
            self.write(result)
        else:
            _arrays.copy_to_host(result, self.out, self.size, stream)


def _described(v: Variant, problem, **more) -> SimpleNamespace:
    """A problem, as functions are given it."""
    operation, type = _name(OPERATIONS, problem.operation), _name(TYPES, problem.type)
    result_type = (WIDE if operation == "wide_sum" else RESULTS).get(type, type)
    axis, shape, out_shape = AXES.get(operation, 0), (problem.n,), (2,) if operation == "moments" else ()
    if operation in AXES:
        if problem.pitch != problem.columns:
            raise Error("takes rows one after the other, without a pitch")
        shape = (problem.rows, problem.columns)
        out_shape = (shape[1 - axis],)
    elif operation == "segment_sums":
        out_shape = (problem.segments,)
    return SimpleNamespace(operation=operation, type=type, n=problem.n, result_type=result_type, shape=shape,
                           out_shape=out_shape, axis=axis, **_chosen(v, problem), **more)


def _name(bits: dict[str, int], wanted: int) -> str:
    return next(name for name, bit in bits.items() if bit == wanted)


def _chosen(v: Variant, problem) -> dict[str, Any]:
    """The settings, as they were declared: 256 rather than "256"."""
    words = (problem.settings[i].decode() for i in range(len(v.settings)))
    return {name: next(value for value in values if str(value) == word)
            for (name, values), word in zip(v.settings.items(), words)}


_plans: dict[int, Plan] = {}
_kept: list = []      # what C has pointers to
_shown: set = set()   # tracebacks, each once


def _failed(v: Variant) -> int:
    """Shows the traceback of what was raised, without our own frames. The text of the error, for C."""
    kind, error, trace = sys.exc_info()
    ours = os.path.dirname(__file__)
    while trace is not None and os.path.dirname(trace.tb_frame.f_code.co_filename) == ours:
        trace = trace.tb_next
    text = "".join(traceback.format_exception(kind, error, trace))
    if trace is not None and text not in _shown:
        _shown.add(text)
        os.write(2, f"{v.id}:\n{text}".encode())
    what = " ".join(str(error).split())
    return address_of(what if trace is None else
                      f"{v.named} raised {kind.__name__}{': ' + what if what else ''}")


def _entry(v: Variant) -> Entry:
    """The structure of C. All that it points to is kept."""

    asked: list = []  # what a function raised that was asked for a number, which prepare() tells

    def prepare(problem, plan):
        try:
            if asked:
                raise asked.pop()
            made = Plan(v, problem.contents)
            _plans[id(made)] = made
            plan[0] = id(made)
            return None
        except BaseException:
            return _failed(v)

    def enqueue(problem, plan, pointer, out, stream):
        try:
            return _plans[plan].call(pointer, out, stream)
        except BaseException:
            return _failed(v)

    def finish(problem, plan, result, stream):
        try:
            return _plans[plan].finish(result, stream)
        except BaseException:
            return _failed(v)

    def destroy(plan):
        gone = _plans.pop(plan)
        for copy in gone.copies.values():
            _arrays.free(copy)
        if gone.pool is not None:
            gone.library.give_back(gone.pool)

    def number(given):
        """What a variant declares by a number or a function of the problem."""
        def get(problem):
            try:
                return int(given(_described(v, problem.contents)) if callable(given) else given)
            except BaseException as error:
                asked[:] = [error]
                return 0
        return Number(get) if given else Number()

    settings = (Setting * max(len(v.settings), 1))()
    for i, (name, values) in enumerate(v.settings.items()):
        settings[i] = Setting(name.encode(), ",".join(map(str, values)).encode(), str(values[0]).encode())
    on_host = v.device == "gpu" and (v.returns or not v.captured)
    entry = Entry(id=v.id.encode(), title=v.title.encode(), device=GPU if v.device == "gpu" else CPU,
                  operations=sum(OPERATIONS[o] for o in v.operations), types=sum(TYPES[t] for t in v.types),
                  result=ON_HOST if on_host else ON_DEVICE, repeats=REPEATS[v.repeats],
                  consumes_input=int(v.consumes_input), settings=settings, setting_count=len(v.settings),
                  workspace_bytes=number(v.workspace), longest_chain=number(v.longest_chain),
                  prepare=Prepare(prepare), enqueue=Enqueue(enqueue), finish=Finish(finish), destroy=Destroy(destroy))
    _kept.extend([entry, settings])
    return entry


def _missing(v: Variant) -> str:
    """Imports what a variant needs; what is missing, in words."""
    own = [arrays for arrays in (v.arrays,) if arrays not in ("reductio", "numpy")]
    for package in [*own, *v.needs]:
        try:
            is_there = importlib.util.find_spec(package) is not None
        except ModuleNotFoundError:
            is_there = False
        if not is_there:
            return f"needs the Python package {package}, which is not installed"
        try:
            importlib.import_module(package)
        except BaseException as error:
            return f"needs the Python package {package}, which cannot be imported: {type(error).__name__}: {error}"
        if _arrays.cuda_has_started():
            return f"needs the Python package {package}, whose import starts CUDA, so that contexts cannot be forked"
    lacking = _arrays.library_of(v.arrays, v.device == "gpu").lacks()
    if lacking:
        return lacking
    if v.peer and not v.ready:
        try:
            _run_peer(v)
        except BaseException as error:
            return f"cannot be prepared: {type(error).__name__}: {error}"
        if _arrays.cuda_has_started():
            return f"cannot be used: {os.path.basename(v.file)} starts CUDA, so that contexts cannot be forked"
    return ""


_by_entry: dict[int, Variant] = {}


@Load
def _load(entry):
    missing = _missing(_by_entry[ctypes.addressof(entry.contents)])
    return address_of(missing) if missing else None


def add_to_program(variants: Iterable[Variant]) -> None:
    """Registers them in this process' library. Raises Error."""
    for v in variants:
        entry = _entry(v)
        _by_entry[ctypes.addressof(entry)] = v
        pointers = (ctypes.POINTER(Entry) * 1)(ctypes.pointer(entry))
        table = TableOfVariants(PLUGIN_VERSION, 1, pointers)
        _kept.extend([pointers, table])
        error = library().reductio_add(ctypes.byref(table), (v.file or "a notebook").encode(), _load, int(v.peer))
        if error:
            raise Error(error.decode())


def registered() -> dict[str, Variant]:
    return _registered


def peers() -> list[Variant]:
    """The package's own, of what a Python user calls today; none where the user has one of that name. Their files run
    when they are needed: until then their declarations are read."""
    folder = os.path.join(os.path.dirname(__file__), "peers")
    if not _peers and os.path.isdir(folder):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py"):
                for v in _declared_in(os.path.join(folder, name)):
                    _peers[v.id] = v
    return [v for v in _peers.values() if v.id not in _registered]


def _declared_in(file: str) -> list[Variant]:
    with open(file) as text:
        tree = ast.parse(text.read())
    needs = []
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [imported.name for imported in node.names]
            # `cuda` is several packages'; of others the package that one installs is told.
            needs += [module if module.startswith("cuda.") else module.split(".")[0] for module in names
                      if module not in ("reductio", "functools", "os", "types")]
    out = []
    for node in tree.body:
        for call in getattr(node, "decorator_list", []):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "reductio.variant":
                options = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
                options.setdefault("arrays", next((GUESSES[need] for need in needs if need in GUESSES), "reductio"))
                options.setdefault("needs", needs)
                takes_one = options.get("prepared") or options.get("returns")
                made = variant(ast.literal_eval(call.args[0]), **options).make(
                    (lambda x, **_: None) if takes_one else (lambda x, out, stream, **_: None))
                made.file, made.peer = file, True
                out.append(made)
    return out


def _run_peer(v: Variant) -> None:
    """Its function in place of the declaration."""
    global _into
    _into, before = {}, _into
    try:
        _run_file(v.file, "reductio.peers." + os.path.basename(v.file)[:-3])
        for id, real in _into.items():
            if id in _peers:
                _peers[id].function, _peers[id].ready = real.function, True
    finally:
        _into = before


_loading: list[str] = []


def loading() -> str:
    """The user's file whose top level runs now, at the program's wish; or nothing."""
    return _loading[-1] if _loading else ""


def _run_file(file: str, name: str) -> None:
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def run_file(file: str) -> None:
    """Runs a user's file and adds its variants to the program. What is in `if __name__ == "__main__"` is not run."""
    before = dict(_registered)
    folder = os.path.dirname(os.path.abspath(file))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    _loading.append(file)
    try:
        _run_file(file, os.path.splitext(os.path.basename(file))[0])
    finally:
        _loading.pop()
    if _arrays.cuda_has_started():
        raise Error("it starts CUDA while it is loaded, so that contexts cannot be forked; use CUDA within functions alone")
    add_to_program(v for id, v in _registered.items() if before.get(id) is not v)


@LoadFile
def _load_file(file):
    try:
        run_file(file.decode())
        return None
    except Error as error:
        return address_of(f"cannot be loaded: {error}")
    except BaseException as error:
        traceback.print_exc()
        return address_of(f"raised {type(error).__name__}: {' '.join(str(error).split())}")


def load_files_by_program() -> None:
    """A .py file may then stand where a variant may be named."""
    library().reductio_load_python_by(_load_file)
