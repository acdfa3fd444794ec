"""verify: exit codes, reports, and what is selected."""

import json
import re
import shlex
import xml.etree.ElementTree as xml

import pytest

from conftest import BIN

ONE = ["verify", "--variants", "^(host/plain|eigen/sum)$", "--device", "cpu", "--tier", "quick"]


def test_reports_agree(reductio, tmp_path):
    words = reductio(*ONE, "--junit", "junit.xml").ok()
    suites = xml.parse(tmp_path / "junit.xml").getroot()
    cases = suites.findall("testsuite/testcase")
    assert [c.get("name") for c in cases] == ["eigen/sum", "host/plain"]
    assert suites.find("testsuite").get("failures") == "0"
    as_json = json.loads(reductio(*ONE, "--json").ok())["verified"]
    as_csv = reductio(*ONE, "--csv").rows()
    for verified, row in zip(as_json, as_csv, strict=True):
        assert verified["status"] == row["status"] == "ok"
        assert verified["passed"] == int(row["passed"]) > 0
        assert verified["failed"] == 0
        assert verified["variant"] in words
    assert words.splitlines()[-1] == f"{sum(o['passed'] for o in as_json)} passed, 0 failed, " \
                                     f"{sum(o['refused'] for o in as_json)} refused"


def test_how_far_it_was_tested_stands_beside_ok(reductio):
    printed = reductio(*ONE).ok()
    assert re.findall(r"^ok .* passed.*, n to (\S+)  ", printed, re.MULTILINE) == ["2^10+1"] * 2
    assert [v["largest_n"] for v in json.loads(reductio(*ONE, "--json").ok())["verified"]] == [1025] * 2
    assert [row["largest_n"] for row in reductio(*ONE, "--csv").rows()] == ["1025"] * 2
    not_tested = "not tested for 2 variants: n beyond 2^31, where an int index overflows"
    assert printed.splitlines()[-2].startswith(not_tested)
    assert "not tested" not in reductio("verify", "--variants", "^host/plain$", "--sizes", "1000").ok(), "sizes were named"


def test_quiet_says_nothing_when_all_is_well(reductio):
    done = reductio(*ONE, "--quiet")
    assert (done.ok(), done.err) == ("", "")


def test_kernels_on_the_simulated_device(reductio):
    rows = reductio("verify", "--device", "sim", "--tier", "quick", "--variants",
                    "^(twopass/rolled|multiblock/last-block)$", "--csv").rows()
    assert len(rows) == 2
    assert all(r["status"] == "ok" and r["device"] == "sim" and int(r["passed"]) > 0 for r in rows)
    assert all(r["left_out"] == "0" for r in rows)


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
    printed = verify("--tier", "quick").ok()
    assert "wrong as declared: block=96 is no power of two" in printed and "0 failed, 0 refused" in printed
    (variant,) = json.loads(verify("--json", "--tier", "quick", "--set", "block=96").ok())["verified"]
    assert variant["passed"] > 0 and len(variant["known_faults"]) == 1 and "block=96" in variant["known_faults"][0]
    (variant,) = json.loads(verify("--json", "--tier", "quick", "--set", "block=64").ok())["verified"]
    assert variant["passed"] > 100 and variant["known_faults"] == []
    # Sizes that are named are verified to be right, which these are not.
    assert "the result is wrong: block=96" in verify("--sizes", "1000").error(1)


def test_named_sizes(reductio):
    rows = reductio("verify", "--device", "cpu", "--variants", "^host/plain$", "--sizes", "0,7,1000", "--types", "f64",
                    "--csv").rows()
    assert [int(r["passed"]) for r in rows] == [6]  # three sizes, exact and bounded data


def test_one_case_is_run_by_the_command_that_a_failure_prints(reductio):
    command = ["verify", "--device", "sim", "--variants", "^levels/naive$", "--operations", "sum", "--types", "f32",
               "--sizes", "1025", "--set", "block=32,finish=atomic,test=bits", "--offset", "1", "--dataset", "random",
               "--seed", "3", "--order", "reverse", "--check", "repeat"]
    assert reductio(*command).ok().splitlines()[-1] == "1 passed, 0 failed, 0 refused"
    (variant,) = json.loads(reductio("verify", "--device", "sim", "--variants", "^twopass/multiple-of-32$", "--operations",
                                     "sum", "--types", "i32", "--sizes", "1000", "--set", "block=96", "--dataset", "exact",
                                     "--check", "fault", "--json").ok())["verified"]
    assert variant["passed"] == 1 and "block=96" in variant["known_faults"][0]
    # What is to be checked follows from the data, unless it is named.
    assert reductio("verify", "--device", "cpu", "--variants", "^host/plain$", "--sizes", "7", "--dataset", "infinity",
                    "--types", "f32").ok().splitlines()[-1] == "1 passed, 0 failed, 0 refused"
    assert reductio("verify", "--device", "sim", "--variants", "^tuned/sum$", "--sizes", "1000", "--dataset", "largest",
                    "--types", "i8", "--operations", "sum").ok().splitlines()[-1] == "1 passed, 0 failed, 0 refused"
    # Data that a type does not have make no case of it.
    rows = reductio("verify", "--device", "cpu", "--variants", "^host/plain$", "--sizes", "7", "--dataset", "infinity",
                    "--check", "special", "--csv").rows()
    assert [r["passed"] for r in rows] == ["2"]


def test_what_fails_and_what_is_refused_stays_within_the_terminal(reductio):
    failed = reductio("verify", "--device", "sim", "--variants", "^twopass/rolled$", "--operations", "sum",
                      "--types", "f32", "--sizes", "2^20", "--patience", "0.001", COLUMNS="60").out
    refused = reductio("verify", "--device", "sim", "--variants", "^twopass/multiple-of-32$", "--sizes", "1000",
                       COLUMNS="60").out
    long = [line for line in (failed + refused).splitlines() if len(line) > 60]
    assert all(len(line.removesuffix(" \\").split()) == 1 for line in long), "but for a word that is longer itself"
    assert "refused: " in refused
    # The command goes into a shell as it stands.
    (command,) = re.findall(r"again: ((?:.*\\\n)+.*)\n", failed)
    assert shlex.split(command.replace("\\\n", " "))[:5] == [str(BIN), "verify", "--device", "sim", "--variants"]


def test_wide_data_are_exact_for_squares_too(reductio):
    printed = reductio("verify", "--device", "sim", "--variants", "^twopass/rolled$", "--sizes", "1000", "--types", "f32,f64",
                       "--dataset", "wide", "--check", "exact").ok()
    assert printed.splitlines()[-1] == "4 passed, 0 failed, 0 refused"


def test_one_case_of_every_check_is_run_by_its_name(reductio):
    for check in ("repeat", "two-plans", "calls", "many-calls", "settings", "chain", "bias"):
        which = ["--device", "cpu", "--variants", "^host/recursive$"] if check == "settings" else \
                ["--device", "sim", "--variants", "^twopass/rolled$"]
        printed = reductio("verify", *which, "--operations", "sum", "--types", "f32", "--sizes", "1021", "--dataset", "random",
                           "--check", check).ok()
        assert printed.splitlines()[-1] == "1 passed, 0 failed, 0 refused", check


def test_the_simulated_device_is_like_a_named_gpu(reductio):
    """On which more blocks are resident at once than on its own 6 multiprocessors."""
    cases = ["verify", "--device", "sim", "--variants", "^modern/cooperative$", "--types", "i32", "--set", "grid=100,block=32"]
    for more in (["--sizes", "20000"], ["--tier", "quick"]):
        ending = reductio(*cases, *more, "--like", "nvidia-h200").ok().splitlines()[-1]
        assert re.fullmatch("[1-9][0-9]* passed, 0 failed, 0 refused", ending), ending
        assert "a cooperative launch has all blocks resident at once" in reductio(*cases, *more).error(1)


def test_indices_of_32_bits_count_to_a_lowered_limit(reductio):
    case = ["--device", "sim", "--variants", "^multiblock/last-block$", "--types", "i32", "--operations", "sum",
            "--sizes", "30000", "--dataset", "random", "--check", "exact", "--set", "index=i32"]
    assert reductio("verify", *case).ok().splitlines()[-1] == "1 passed, 0 failed, 0 refused"
    printed = reductio("verify", *case, "--index-limit", "32767").out
    assert "an index of type i32 cannot count to " in printed  # the last step ends beyond


@pytest.mark.parametrize("arguments, said", [
    (["--order", "sideways"], "unknown --order 'sideways'; known: forward, reverse, starve, random"),
    (["--check", "twice"],
     "unknown --check 'twice'; known: exact, bounded, special, repeat, two-plans, calls, many-calls, settings, chain, "
     "bias, neighbours, fault"),
    (["--like", "gpu-none", "--sizes", "1000"],
     "unknown GPU 'gpu-none' to be like; known: small, sm-75, sm-86, nvidia-h200, nvidia-b200"),
    (["--like", "nvidia-h200"], "--like is for the simulated device; add --device sim"),
    (["--check", "chain", "--device", "cpu", "--variants", "^host/plain$", "--sizes", "1000"],
     "the additions of a chain are counted on the simulated device alone"),
    (["--check", "settings", "--device", "cpu", "--variants", "^host/plain$", "--sizes", "1000"],
     "does not declare that n alone decides the bits (Determinism::always)"),
    (["--check", "chain", "--device", "sim", "--variants", "^twopass/rolled$", "--sizes", "1000", "--types", "i32"],
     "the additions of a chain are counted in floats"),
    (["--check", "exact", "--dataset", "random", "--device", "cpu", "--variants", "^host/plain$", "--sizes", "1000"],
     "--check exact: the sum of 'random' data in f32 depends on the order of adding; give --check bounded or --dataset "
     "exact"),
    (["--check", "exact", "--dataset", "subnormal", "--device", "sim", "--variants", "^twopass/rolled$", "--sizes", "1000"],
     "--check exact: the sum_of_squares of 'subnormal' data in f32 depends on the order of adding"),
    (["--check", "fault", "--device", "cpu", "--variants", "^host/plain$", "--sizes", "1000"],
     "host/plain with opt=O2 has no known fault to check; 'reductio info host/plain' lists the settings that have one"),
    (["--check", "fault", "--device", "sim", "--variants", "^twopass/multiple-of-32$", "--sizes", "1000", "--set",
      "block=64"], "has no known fault to check"),
    (["--dataset", "primes"], "unknown --dataset 'primes'; known: random, exact, "),
    (["--offset", "1"],
     "--offset, --dataset, --order, --check and --index-limit describe cases of named sizes; give --sizes, too"),
    (["--index-limit", "32767"], "--index-limit describe cases of named sizes; give --sizes, too"),
    (["--index-limit", "-1", "--sizes", "1000"], "malformed --index-limit '-1'; give a whole number from 0 to 2^31"),
])
def test_what_describes_no_case_is_refused(reductio, arguments, said):
    assert said in reductio("verify", *arguments).error(1)


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
