"""On the simulated device p[i] is no float but what stands for it, so `auto a = p[i]` would read later than on CUDA. Whatever
uses one that has a name does not compile, and the error says what to write."""

import shutil
import subprocess

import pytest
from project import SOURCE

HEADERS = "<array>", "<utility>", '"device/kernel.h"'
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


def errors_in(done: subprocess.CompletedProcess) -> list[str]:
    found = [line for line in done.stderr.splitlines() if "error: " in line]
    assert bool(found) == (done.returncode != 0), done.stderr
    return found


@pytest.mark.parametrize("line, advice", WRONG, ids=[line for line, _ in WRONG])
def test_a_name_for_an_element_is_an_error_that_says_what_to_write(line, advice, syntax_of):
    found = errors_in(syntax_of(FILE % line))
    assert any(advice in error for error in found), found


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_both_compilers_say_so_and_take_what_is_right(compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler} here")
    # Each in a namespace and, to the compiler, a file of its own, in one compilation.
    lines = {"right": RIGHT, "first": WRONG[0][0], "last": WRONG[-1][0]}
    (tmp_path / "kernels.cpp").write_text("".join(f"#include {header}\n" for header in HEADERS) + "".join(
        f'namespace {name} {{\n#line 1 "{name}.cu"\n{FILE % line}}}\n' for name, line in lines.items()))
    done = subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fsyntax-only",
                           "-I", SOURCE / "src", tmp_path / "kernels.cpp"], capture_output=True, text=True)
    found = errors_in(done)
    assert len(found) == 2 and all(any(advice in error for error in found) for _, advice in (WRONG[0], WRONG[-1])), found
    assert "first.cu:" in done.stderr and "last.cu:" in done.stderr and "right.cu:" not in done.stderr, done.stderr
