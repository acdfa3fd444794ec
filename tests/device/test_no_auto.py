"""On the simulated device p[i] is no float but what stands for it, so `auto a = p[i]` would read later than on CUDA. Whatever
uses one that has a name does not compile, and the error says what to write."""

import os
import subprocess

import pytest
from project import SOURCE

FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wno-unused-parameter", "-fsyntax-only"]
FILE = """using namespace reductio::device;
template <class T> T twice(T x) { return x + x; }
template <class T> T identity(T x) { return x; }
template <class T> float by_reference(const T& x) { return x; }
__global__ void kernel(GlobalPtr<float> p, SharedPtr<float2> v, unsigned t) {
  SharedPtr<float> s = shared_memory<float>();
  float x = 0;
  %s
  p[0] = x;
}
"""
TYPE = "write the type of what you read"
WRONG = [
    ("auto a = s[t]; s[t] = s[t + 1]; s[t + 1] = a;", "T x = p[i];"),
    ("auto a = p[t]; p[t] = p[t + 1]; p[t + 1] = a;", TYPE),
    ("auto a = *s; x = a;", TYPE),
    ("auto& a = s[t]; x = a;", TYPE),
    ("auto&& a = s[t]; a = 3;", TYPE),
    ("const auto& a = s[t]; x = a;", TYPE),
    ("float& a = s[t]; a = 3;", TYPE),
    ("decltype(s[t]) a = s[t]; x = a;", TYPE),
    ("auto a = s[t]; x = a + 1;", TYPE),
    ("auto a = s[t]; x += a;", TYPE),
    ("auto a = s[t]; a += 1;", TYPE),
    ("auto a = s[t]; x = -a;", TYPE),
    ("auto a = s[t]; a++;", TYPE),
    ("auto a = s[t]; if (a) x = 1;", TYPE),
    ("auto a = s[t]; x = float(double(a));", TYPE),
    ("auto a = s[t]; x = __shfl_down_sync(~0u, a, 1);", TYPE),
    ("auto a = s[t]; x = min(a, 1.0f);", TYPE),
    ("auto a = s[t]; atomicAdd(p, a);", TYPE),
    ("auto a = t ? s[t] : 0; x = a;", TYPE),
    ("auto f = [a = s[t]] { return float(a); }; x = f();", TYPE),
    ("auto a = s[t]; auto f = [a] { return 1; }; x = f();", TYPE),
    ("std::swap(s[0], s[1]);", "std::swap"),
    ("std::array a{s[0], s[1]}; x = a[0];", TYPE),
    ("auto [a, b] = v[t]; x = a;", "write the type of what you read: `float2 v = p[i]; auto [x, y] = v;`"),
    ("x = twice(s[t]);", "f(T(p[i]))"),
    ("x = identity(s[t]);", "f(T(p[i]))"),
    ("x = by_reference(s[t]);", "f(T(p[i]))"),
    ("x = float(t ? s[t] : 0.5);", "the two sides of ?: have different types: write the wider one"),
]
RIGHT = """float a = s[t]; s[t] = s[t + 1]; s[t + 1] = a;
  x = t ? s[t] : 0; x += t ? 0 : s[t]; p[1] = t ? p[0] : s[t - 1] > 0 ? 1 : 2;
  x += twice(float(s[t])); x += by_reference(float(p[t])); float2 f = v[t]; auto [c, d] = f; x += c + d;
  float y[2] = {s[0], s[1]}; x += y[0]; s[0] = s[1] = x; x = float(t ? double(s[t]) : 0.5);"""


@pytest.fixture(scope="module")
def errors_of(tmp_path_factory):
    """The errors of g++, or $CXX, in these lines. Behind a precompiled header: reading the simulated device's headers takes
    ten times as long."""
    compiler, folder = os.environ.get("CXX", "g++"), tmp_path_factory.mktemp("prefix")
    prefix, source = folder / "prefix.h", folder / "kernels.cpp"
    prefix.write_text('#include <array>\n#include <utility>\n#include "device/kernel.h"\n')
    # clang++ reads such a file by another name, and then the header itself.
    subprocess.run([compiler, *FLAGS[:-1], "-I", SOURCE / "src", "-x", "c++-header", prefix, "-o", f"{prefix}.gch"], check=True)

    def check(lines: str) -> list[str]:
        source.write_text('#include "prefix.h"\n' + lines)
        done = subprocess.run([compiler, *FLAGS, "-I", SOURCE / "src", source], capture_output=True, text=True)
        return [line for line in done.stderr.splitlines() if "error: " in line]

    return check


@pytest.mark.parametrize("line, advice", WRONG, ids=[line for line, _ in WRONG])
def test_a_name_for_an_element_is_an_error_that_says_what_to_write(line, advice, errors_of):
    found = errors_of(FILE % line)
    assert any(advice in error for error in found), found
