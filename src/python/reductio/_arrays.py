"""Memory of the program's as arrays: DLPack and the array interfaces, and those of numpy, torch, CuPy, Numba and JAX."""

from __future__ import annotations

import contextlib
import ctypes
import dis
import functools
import warnings
from ctypes import CFUNCTYPE, POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from types import CodeType, ModuleType

from ._library import TYPES, Error

# Of each type: DLPack's code and bits, and the array interface's name (bf16 has none).
DLPACK = {"i8": (0, 8), "i32": (0, 32), "i64": (0, 64), "f16": (2, 16), "bf16": (4, 16), "f32": (2, 32), "f64": (2, 64)}
TYPESTR = {"i8": "|i1", "i32": "<i4", "i64": "<i8", "f16": "<f2", "f32": "<f4", "f64": "<f8"}
NAMES = {"int8": "i8", "int32": "i32", "int64": "i64", "float16": "f16", "bfloat16": "bf16", "float32": "f32",
         "float64": "f64"}
ON_CPU, ON_CUDA = 1, 2  # DLPack's devices


class _Device(Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class _DataType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class _Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device", _Device), ("ndim", c_int32), ("dtype", _DataType),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class _Managed(Structure):
    pass


_Deleter = CFUNCTYPE(None, POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", _Deleter)]

_managed: dict[int, tuple] = {}  # until their consumers delete them


@_Deleter
def _delete(managed):
    _managed.pop(ctypes.addressof(managed.contents), None)


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.argtypes, _new_capsule.restype = [c_void_p, ctypes.c_char_p, c_void_p], ctypes.py_object


class Array:
    """A contiguous array in memory that is not Python's.

    `shape`: (n,) or (rows, columns) of the input, () of a result, (2,) of moments', (outputs,) of many sums. `type`: "f32". `device`: DLPack's, (2, 0) for the first
    GPU. It speaks `__dlpack__`, and `__cuda_array_interface__` or, on a CPU, `__array_interface__`."""

    def __init__(self, pointer: int, shape: tuple[int, ...], type: str, device: tuple[int, int]):
        self.pointer, self.shape, self.type, self._device = pointer, shape, type, device
        if type in TYPESTR:
            interface = {"shape": shape, "typestr": TYPESTR[type], "data": (pointer, False), "strides": None}
            if device[0] == ON_CUDA:
                self.__cuda_array_interface__ = {**interface, "version": 2}
            else:
                self.__array_interface__ = {**interface, "version": 3}

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"reductio.Array(shape={self.shape}, type={self.type!r}, device={self._device})"

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        shape = (c_int64 * max(len(self.shape), 1))(*self.shape)
        managed = _Managed(_Tensor(self.pointer, _Device(*self._device), len(self.shape),
                                   _DataType(*DLPACK[self.type], 1), shape, None, 0), None, _delete)
        _managed[ctypes.addressof(managed)] = (managed, shape)
        return _new_capsule(ctypes.addressof(managed), b"dltensor", None)


class Stream(int):
    """A cudaStream_t as its address; speaks `__cuda_stream__`, too."""

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, int(self)


# ---- the libraries: what a function is given, and on which stream the library works ----

class Plain:
    """Arrays of reductio's own."""
    on_gpu = True
    has_pools = False  # the library allocates during calls
    alignment = 1      # of the inputs that it takes, in bytes

    def __init__(self):
        self.now = None  # the stream that is current

    def lacks(self) -> str:
        """Why it cannot be used, or nothing. Starts no CUDA."""
        return ""

    def array(self, a: Array):
        return a

    def stream(self, handle: int):
        return Stream(handle)

    def enter(self, stream: int) -> None:
        """Before calls on another stream."""


class Pooled(Plain):
    """A library that takes memory during calls. A captured call takes it from a pool of its plan's, so that no other
    call is given that memory while the graph lives. Pools are never destroyed: PyTorch aborts if that happens while
    another pool is in use. The next plan takes over the pool of one that is gone."""
    has_pools = True

    def __init__(self):
        super().__init__()
        self._spare: list = []

    def take_pool(self):
        return self._spare.pop() if self._spare else self.new_pool()

    def give_back(self, pool) -> None:
        self._spare.append(pool)


class Numpy(Plain):
    on_gpu = False

    def lacks(self):
        # The harness sums infinities and what overflows, too, and judges the result itself.
        warnings.filterwarnings("ignore", ".* encountered in ", RuntimeWarning)
        return ""

    def array(self, a: Array):
        import numpy
        if a.type not in TYPESTR:
            raise Error(f"numpy has no {a.type}")
        return numpy.asarray(a)


class Torch(Pooled):
    def lacks(self):
        import torch
        return "" if hasattr(torch.cuda, "use_mem_pool") else f"needs PyTorch 2.5 or newer, not {torch.__version__}"

    def array(self, a: Array):
        import torch
        return torch.from_dlpack(a)

    def enter(self, stream):
        import torch
        torch.cuda.set_stream(torch.cuda.ExternalStream(stream))

    def new_pool(self):
        import torch
        return torch.cuda.MemPool()

    def allocating_from(self, pool):
        import torch
        return torch.cuda.use_mem_pool(pool)


class TorchOnCpu(Plain):
    on_gpu = False

    def array(self, a: Array):
        import torch
        return torch.from_dlpack(a)


class Cupy(Pooled):
    def array(self, a: Array):
        import cupy
        return cupy.from_dlpack(a)

    def enter(self, stream):
        import cupy
        if hasattr(cupy.cuda.Stream, "from_external"):
            self.current = cupy.cuda.Stream.from_external(Stream(stream))
        else:
            self.current = cupy.cuda.ExternalStream(stream)
        self.current.use()

    def new_pool(self):
        import cupy
        return cupy.cuda.MemoryPool()

    def allocating_from(self, pool):
        import cupy
        return cupy.cuda.using_allocator(pool.malloc)


class Numba(Plain):
    """Its kernels index what they write, so a result of shape () is given as one of shape (1,)."""

    def lacks(self):
        from numba import cuda
        warnings.filterwarnings("ignore", ".*Grid size .* low occupancy")  # small inputs have small grids
        try:  # it names parts of NumPy, which may be gone, not before it compiles
            cuda.compile_ptx(lambda x: None, "void(float32[::1])", cc=(8, 0))
        except Exception as error:
            return f"needs Numba, which cannot compile here: {type(error).__name__}: {error}"
        return ""

    def array(self, a: Array):
        from numba import cuda
        return cuda.as_cuda_array(a if a.shape else Array(a.pointer, (1,), a.type, a.__dlpack_device__()))

    def stream(self, handle):
        from numba import cuda
        return cuda.external_stream(handle)


class Jax(Plain):
    """JAX has streams of its own, so ours must be idle when it reads."""
    alignment = 16

    def array(self, a: Array):
        import jax
        return jax.dlpack.from_dlpack(a)


LIBRARIES = {"reductio": Plain, "numpy": Numpy, "torch": Torch, "cupy": Cupy, "numba": Numba, "jax": Jax}
# Which arrays a function wants that names something of these packages.
GUESSES = {"torch": "torch", "triton": "torch", "cupy": "cupy", "numba": "numba", "jax": "jax", "jaxlib": "jax",
           "numpy": "numpy"}
_opened: dict[tuple[str, bool], Plain] = {}


def library_of(name: str, on_gpu: bool) -> Plain:
    """The one context of a library in this process."""
    key = name, on_gpu
    if key not in _opened:
        _opened[key] = TorchOnCpu() if name == "torch" and not on_gpu else LIBRARIES[name]()
    return _opened[key]


def guess(function) -> str | None:
    """The library whose arrays a function wants: the first of GUESSES that it names, in its own code or in that of
    functions within; else the only one that its module has imported, numpy aside."""
    scope = getattr(function, "__globals__", {})
    code = getattr(function, "__code__", None)
    around = dict(zip(getattr(code, "co_freevars", ()), getattr(function, "__closure__", None) or ()))

    def package(value) -> str:
        return (value.__name__ if isinstance(value, ModuleType) else type(value).__module__).split(".")[0]

    def named(code):
        for name in (*code.co_names, *code.co_freevars):
            if name in around:
                with contextlib.suppress(ValueError):  # a variable that is not set yet
                    yield package(around[name].cell_contents)
            elif name in scope:
                yield package(scope[name])
        yield from (step.argval.split(".")[0] for step in dis.get_instructions(code) if step.opname == "IMPORT_NAME")
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                yield from named(inner)

    def libraries(packages) -> list[str]:
        used = set(packages)
        return list(dict.fromkeys(arrays for package, arrays in GUESSES.items() if package in used))

    mine = libraries(named(code)) if code else []
    imported = libraries(package(value) for value in list(scope.values()) if isinstance(value, ModuleType))
    only = [package for package in imported if package != "numpy"] or imported
    return mine[0] if mine else only[0] if len(only) == 1 else None


# ---- the driver, which is loaded wherever there is a GPU ----

@functools.lru_cache(maxsize=None)
def _driver():
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def cuda_has_started() -> bool:
    """Whether this process has initialised CUDA, which a forked process cannot use then. Starts nothing."""
    if not _loaded("libcuda.so"):
        return False
    driver = _driver()
    count = ctypes.c_int()
    return driver is not None and driver.cuDeviceGetCount(ctypes.byref(count)) != 3  # CUDA_ERROR_NOT_INITIALIZED


def _loaded(name: str) -> bool:
    with open("/proc/self/maps") as maps:
        return any(name in line for line in maps)


@functools.lru_cache(maxsize=None)
def _capture_query():
    query, status = _driver().cuStreamIsCapturing, c_int32()
    query.argtypes = [c_void_p, c_void_p]
    return query, status, ctypes.byref(status)


def is_capturing(stream: int) -> bool:
    """Asked before each call of a library that has pools, so it is quick."""
    query, status, reference = _capture_query()
    if query(stream, reference):
        raise Error("cuStreamIsCapturing failed")
    return status.value != 0


def current_gpu() -> int:
    device = c_int32()
    driver = _driver()
    return device.value if driver is not None and driver.cuCtxGetDevice(ctypes.byref(device)) == 0 else 0


def wait_for(stream: int) -> None:
    _checked_call("cuStreamSynchronize", c_void_p(stream))


def copy_to_host(result: int, pointer: int, size: int, stream: int) -> None:
    _checked_call("cuMemcpyDtoHAsync_v2", c_void_p(result), c_uint64(pointer), ctypes.c_size_t(size), c_void_p(stream))
    wait_for(stream)


@contextlib.contextmanager
def capture_relaxed(device_type: int):
    """This thread may allocate and load kernels although a stream of its is being captured."""
    if device_type != ON_CUDA:
        yield
        return
    mode = ctypes.c_int(2)  # CU_STREAM_CAPTURE_MODE_RELAXED; the call swaps it with the thread's
    _driver().cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))
    try:
        yield
    finally:
        _driver().cuThreadExchangeStreamCaptureMode(ctypes.byref(mode))


_side_streams: dict[int, int] = {}


@contextlib.contextmanager
def side_stream(gpu: int | None):
    """A stream for work that is not the program's, idle at the end; None without a GPU."""
    if gpu is None:
        yield None
        return
    if gpu not in _side_streams:
        made = c_void_p()
        _checked_call("cuStreamCreate", ctypes.byref(made), 1)  # not blocked by the default stream
        _side_streams[gpu] = made.value
    with capture_relaxed(ON_CUDA):
        yield _side_streams[gpu]
        wait_for(_side_streams[gpu])


def allocate(size: int) -> int:
    memory = c_uint64()
    _checked_call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(size))
    return memory.value


def free(pointer: int) -> None:
    _checked_call("cuMemFree_v2", c_uint64(pointer))


def copy_on_gpu(to: int, pointer: int, size: int, stream: int) -> None:
    _checked_call("cuMemcpyDtoDAsync_v2", c_uint64(to), c_uint64(pointer), ctypes.c_size_t(size), c_void_p(stream))


@contextlib.contextmanager
def scratch(size: int):
    """So many bytes of zeros in GPU memory."""
    memory = allocate(size)
    try:
        _checked_call("cuMemsetD8Async", c_uint64(memory), ctypes.c_ubyte(0), ctypes.c_size_t(size),
                      c_void_p(_side_streams[current_gpu()]))
        yield memory
    finally:
        free(memory)


def _checked_call(name: str, *arguments) -> None:
    status = getattr(_driver(), name)(*arguments)
    if status:
        raise Error(f"{name} failed with CUDA error {status}")


# ---- arrays of a caller's ----

def described(x, may_have_pitch: bool = False) -> tuple[str, int, int, tuple[int, int]]:
    """(type, pointer, n, DLPack's device) of a caller's array. Raises Error where it cannot be summed as it is. A matrix
    that is part of a wider one may have a pitch."""
    if hasattr(x, "__cuda_array_interface__") and not is_torch(x):
        face = x.__cuda_array_interface__
        if face.get("mask") is not None:
            raise Error("the array has a mask of missing values, which is not read; fill them, or leave them out")
        type = next((t for t, text in TYPESTR.items() if text == face["typestr"]), None)
        strides = None if may_have_pitch and has_pitch(*layout(x)) else face.get("strides")
        return _checked(type, face["typestr"], face["data"][0], face["shape"], strides, (ON_CUDA, current_gpu()))
    if is_torch(x):
        if x.device.type != "cuda":
            raise Error(f"the array is on device {x.device}; reductio.sum adds up GPU memory: x.cuda()")
        _refuse_more_than_memory(x)
        type = NAMES.get(str(x.dtype).split(".")[-1])
        if not x.is_contiguous() and not (may_have_pitch and has_pitch(*layout(x))):
            raise Error(f"the array is not contiguous (strides {tuple(x.stride())}); x.contiguous() copies it")
        return _checked(type, str(x.dtype), x.data_ptr(), tuple(x.shape), None, (ON_CUDA, x.device.index or 0))
    if hasattr(x, "__array_interface__"):
        raise Error("the array is in host memory; reductio.sum adds up GPU memory, such as torch's or CuPy's")
    raise Error(f"a {builtin_name(x)} is not an array: it has neither __cuda_array_interface__ nor __dlpack__")


def layout(x) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Shape and strides, in elements, of an array on a GPU; None: it is contiguous."""
    if is_torch(x):
        return tuple(x.shape), None if x.is_contiguous() else tuple(x.stride())
    face = x.__cuda_array_interface__
    strides, size = face.get("strides"), int(face["typestr"][2:])
    if strides and any(stride % size for stride in strides):
        raise Error(f"the array's strides {tuple(strides)} are no multiples of its {size} bytes an element; copy it first")
    return tuple(face["shape"]), strides and tuple(stride // size for stride in strides)


def has_pitch(shape, strides) -> bool:
    """Whether it is a matrix of rows that are contiguous but do not follow each other without a gap."""
    return len(shape) == 2 and strides is not None and shape[0] > 1 and strides[1] == 1 and strides[0] > shape[1]


def builtin_name(x) -> str:
    return type(x).__name__


def is_torch(x) -> bool:
    return any(base.__module__.split(".")[0] == "torch" for base in type(x).__mro__) and hasattr(x, "data_ptr")


def is_on_gpu(x) -> bool:
    return x.device.type == "cuda" if is_torch(x) else hasattr(x, "__cuda_array_interface__")


def torch_on_cpu(function: str, x):
    """A tensor that numpy reads, with the same numbers."""
    if x.device.type != "cpu":
        raise Error(f"the array is on device {x.device}; {function} takes those of CUDA and the CPU: x.cpu()")
    _refuse_more_than_memory(x)
    return x.float() if str(x.dtype) == "torch.bfloat16" else x


def _refuse_more_than_memory(x) -> None:
    """Of a tensor that means more than the numbers in its memory."""
    if x.requires_grad:
        raise Error("the tensor requires a gradient, which reductio does not record; x.detach() has none")
    if hasattr(x, "get_mask"):
        raise Error("the tensor has a mask, which is not read; give the values that count: x.get_data()[x.get_mask()]")
    if getattr(x, "is_nested", False) or not str(x.layout).endswith("strided"):
        raise Error(f"the tensor is not of strided memory but {x.layout}; x.to_dense() or x.values() is")
    if x.is_neg():
        raise Error("the tensor is a negated view of memory; x.resolve_neg() is not")


def _checked(type, named, pointer, shape, strides, device):
    if type is None:
        raise Error(f"elements of type {named} are not supported (supported: {', '.join(TYPES)})")
    n = 1
    for extent in shape:
        n *= extent
    if strides is not None and n > 1:
        expected, size = [], DLPACK[type][1] // 8
        for extent in reversed(shape):
            expected.insert(0, size)
            size *= extent
        if any(s != e for s, e, extent in zip(strides, expected, shape) if extent > 1):
            raise Error(f"the array is not contiguous (strides {tuple(strides)}); copy it first")
    return type, pointer, n, device
