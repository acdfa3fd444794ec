"""A kernel that sum_kernel() cannot call is an error of the compiler, which says which parameters it needs."""

import pytest

ADVICE = "a sum_kernel takes (GlobalPtr<const T> in, GlobalPtr<T> out, std::int64_t n), or with"


@pytest.mark.parametrize("parameters", [
    "GlobalPtr<const float> in, GlobalPtr<float> out",
    "GlobalPtr<const float> in, GlobalPtr<float> out, float n",
    "GlobalPtr<const double> in, GlobalPtr<float> out, int n",
    "GlobalPtr<const float> in, GlobalPtr<float> partials, GlobalPtr<unsigned> arrived, GlobalPtr<float> out, int n"])
def test_the_parameters_are_named(syntax_of, parameters):
    done = syntax_of(f"""using namespace reductio::device;
__global__ void sum({parameters}) {{}}
const Register registered = sum_kernel("mine/sum", {{.block = 64}}, launch<sum>);
""")
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert done.returncode != 0 and len(errors) == 1 and ADVICE in errors[0], done.stderr
