"""verify: exit codes, reports, and what is selected."""

import json
import xml.etree.ElementTree as xml

import pytest

ONE = ["verify", "--variants", "^(host/plain|eigen/sum)$", "--device", "cpu", "--tier", "quick"]


def test_reports_agree(reductio, tmp_path):
    words = reductio(*ONE, "--junit", "junit.xml").ok()
    suites = xml.parse(tmp_path / "junit.xml").getroot()
    cases = suites.findall("testsuite/testcase")
    assert [c.get("name") for c in cases] == ["eigen/sum", "host/plain"]
    assert suites.find("testsuite").get("failures") == "0"
    as_json = json.loads(reductio(*ONE, "--json").ok())["verified"]
    as_csv = reductio(*ONE, "--csv").rows()
    for one, row in zip(as_json, as_csv, strict=True):
        assert one["status"] == row["status"] == "ok"
        assert one["passed"] == int(row["passed"]) > 0
        assert one["failed"] == 0
        assert one["variant"] in words
    assert words.splitlines()[-1] == f"{sum(o['passed'] for o in as_json)} passed, 0 failed, " \
                                     f"{sum(o['refused'] for o in as_json)} refused"


def test_quiet_says_nothing_when_all_is_well(reductio):
    done = reductio(*ONE, "--quiet")
    assert (done.ok(), done.err) == ("", "")


def test_kernels_on_the_simulated_device(reductio):
    rows = reductio("verify", "--device", "sim", "--tier", "quick", "--variants",
                    "^(twopass/rolled|multiblock/last-block)$", "--csv").rows()
    assert len(rows) == 2
    assert all(r["status"] == "ok" and r["device"] == "sim" and int(r["passed"]) > 0 for r in rows)


def test_selection_narrows_the_battery(reductio):
    def passed(*arguments):
        rows = reductio("verify", "--device", "sim", "--tier", "quick", "--variants", "^twopass/rolled$", "--csv",
                        *arguments).rows()
        return int(rows[0]["passed"])
    everything = passed()
    assert 0 < passed("--types", "f32") < everything
    assert 0 < passed("--types", "f32", "--set", "block=64") <= passed("--types", "f32")


def test_a_known_fault_is_verified_to_be_one(reductio):
    def verify(*arguments):
        return reductio("verify", "--device", "sim", "--variants", "^twopass/multiple-of-32$", *arguments)
    told = verify("--tier", "quick").ok()
    assert "wrong as declared: block=96 is no power of two" in told and "0 failed, 0 refused" in told
    (one,) = json.loads(verify("--json", "--tier", "quick", "--set", "block=96").ok())["verified"]
    assert one["passed"] > 0 and len(one["known_faults"]) == 1 and "block=96" in one["known_faults"][0]
    (one,) = json.loads(verify("--json", "--tier", "quick", "--set", "block=64").ok())["verified"]
    assert one["passed"] > 100 and one["known_faults"] == []
    # Sizes that are named are verified to be right, which these are not.
    assert "the result is wrong: block=96" in verify("--sizes", "1000").error(1)


def test_named_sizes(reductio):
    rows = reductio("verify", "--device", "cpu", "--variants", "^host/plain$", "--sizes", "0,7,1000", "--types", "f64",
                    "--csv").rows()
    assert [int(r["passed"]) for r in rows] == [6]  # three sizes, exact and bounded data


@pytest.mark.parametrize("device", ["sim", "cpu"])
def test_a_refused_type_is_told(reductio, device):
    """Where only some of the selected variants have what is asked for, the others are refused, and it is told."""
    chosen = {"sim": "^(squares/strided|unroll/interleaved)$", "cpu": "^eigen/"}[device]
    rows = {r["variant"]: r for r in reductio("verify", "--device", device, "--tier", "quick", "--variants", chosen,
                                               "--operations", "sum_of_squares", "--csv").rows()}
    done, refused = {"sim": ("squares/strided", "unroll/interleaved"),
                     "cpu": ("eigen/squared-norm", "eigen/sum")}[device]
    assert rows[done]["status"] == "ok"
    assert rows[refused]["status"] == "refused" and "sum_of_squares is not supported" in rows[refused]["reason"]


@pytest.mark.parametrize("arguments,words", [
    (["--variants", "^eigen/sum$", "--operations", "sum_of_squares"], ["eigen/sum", "sum_of_squares is not supported"]),
    (["--variants", "^eigen/sum$", "--sizes", "2^50"], ["eigen/sum", "memory"])])
def test_where_nothing_is_verified_that_is_an_error(reductio, arguments, words):
    message = reductio("verify", "--device", "cpu", *arguments).error(1)
    for word in ["nothing was verified", *words]:
        assert word in message
