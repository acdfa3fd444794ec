"""No test asserts how fast the machine is that it runs on, or how busy.

Where a test reads a real clock, or compares live, what it asserts of times, ratios and verdicts must hold on any machine.
Zero may be compared with; anything else says why in a comment on its line or the one before, `any machine: ...`, as that
the test itself waited so long, or that longer is a hang. Times that a test made up may be asserted as they are.
"""

import pathlib
import re

from source import code, files, line_of, without_comments

ALLOWED = "any machine:"

# What makes the times in a C++ test real: a clock of the machine, or a timer that reads one.
CPP_CLOCK = re.compile(r"\bhost_now\s*\(|\bmake_(?:host_|cuda_)?instruments\s*\(|\binstruments_\b|\bhost_clock_resolution_s\s*\(|"
                       r"\b(?:steady|system|high_resolution)_clock\b|\bgettimeofday\b|\bclock_gettime\b|"
                       r"\b(?:u|nano)?sleep(?:_for)?\s*\(")
CPP_TIME = re.compile(r"\b\w*(?:_s|_hz|_at)\b|\bseconds\b|\belapsed\b|\bduration\b|host_now|\bverdict\b|\bVerdict::|\bratio\b|"
                      r"_of\(.*TimingMode")
CPP_ASSERTION = re.compile(r"\b(?:EXPECT|ASSERT)_(LT|LE|GT|GE|EQ|NE|NEAR|DOUBLE_EQ|FLOAT_EQ|TRUE|FALSE)\s*\(")
CPP_TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\s*\(", re.MULTILINE)

# The same in Python: what a program measured live, and clocks of Python's own.
PYTHON_CLOCK = re.compile(r"\b(?:perf_counter|monotonic|process_time|time\.time)(?:_ns)?\s*\(")
PYTHON_LIVE = re.compile(r"""["'](?:compare|selftest)["']|["']run["'],\s*["']cpu["']""")
PYTHON_VERDICT = re.compile(r"\b(?:FASTER|SLOWER|SAME)\b|\.code\s*==\s*[34]\b|\bratio\b|(?<!end)_s[\"']\]|\bfound\b")
PYTHON_TEST = re.compile(r"^def (test_\w+)\(([^)]*)\):\n((?:[ \t].*\n|\n)*)", re.MULTILINE)
MADE_UP = {"planted"}  # fixtures whose times a test has made up


def allowed(lines: list[str], line: int) -> bool:
    """Whether this line, or a comment that is all of the one before, says why it holds on any machine."""
    before = lines[line - 2].strip() if line > 1 else ""
    return ALLOWED in lines[line - 1] or before.startswith(("//", "#")) and ALLOWED in before


def arguments(bare: str, text: str, start: int) -> list[str]:
    """What stands between the parentheses that open at `start`, split at commas outside any others; as in `text`, which
    has strings where `bare` has none."""
    depth, parts, begin = 0, [], start + 1
    for i in range(start, len(bare)):
        if bare[i] in "([{":
            depth += 1
        elif bare[i] in ")]}":
            depth -= 1
            if depth == 0:
                return [*parts, text[begin:i].strip()]
        elif bare[i] == "," and depth == 1:
            parts.append(text[begin:i].strip())
            begin = i + 1
    return parts


def of_cpp(text: str) -> list[int]:
    """The lines of a C++ test that assert real times."""
    bare, kept, lines, found = code(text), without_comments(text), text.splitlines(), []
    starts = [m.start() for m in CPP_TEST.finditer(bare)]
    for begin, end in zip(starts, [*starts[1:], len(bare)]):
        test = bare[begin:end]
        if not CPP_CLOCK.search(test):
            continue
        for match in CPP_ASSERTION.finditer(test):
            compared = arguments(test, kept[begin:end], match.end() - 1)
            line = line_of(bare, begin + match.start())
            if allowed(lines, line) or not any(CPP_TIME.search(part) for part in compared[:2]):
                continue
            whole = match[1] in ("TRUE", "FALSE")
            if whole and not re.search(r"[<>]=?", compared[0].replace("->", ".")):
                continue
            if not whole and re.fullmatch(r"0(?:\.0*)?", compared[1]) or re.fullmatch(r"0u?", compared[0]):
                continue
            # Two figures that one sample or row told, which must agree with each other.
            bases = {base(part) for part in compared[:2]}
            if match[1] in ("LT", "LE", "GT", "GE") and len(bases) == 1 and None not in bases:
                continue
            found.append(line)
    return found


def base(part: str) -> str | None:
    """`row` of `*row.time_min_s`."""
    match = re.fullmatch(r"\*?(\w+)\.\w+", part)
    return match[1] if match else None


def of_python(text: str) -> list[int]:
    """The lines of a Python test that assert real times, or what a live comparison found."""
    lines, found = text.splitlines(), []
    for test in PYTHON_TEST.finditer(text):
        body, first = test[3], line_of(text, test.start(3))
        clock, live = PYTHON_CLOCK.search(body), PYTHON_LIVE.search(body)
        if MADE_UP & {name.strip() for name in test[2].split(",")}:
            live = None
        for number, line in enumerate(body.splitlines(), first):
            asserted = re.match(r"\s*assert\b(.*)", line)
            if not asserted or allowed(lines, number):
                continue
            words = asserted[1]
            if clock and re.search(r"[<>]", words):
                found.append(number)
            elif live and PYTHON_VERDICT.search(words) and re.search(r"==|[<>]|isclose|\.count\(", words):
                if not re.search(r"> 0$|\bin VERDICTS\b", words):
                    found.append(number)
    return found


def violations(root: pathlib.Path) -> list[str]:
    found = []
    why = (f"asserts what a real clock said; use the scripted clock, report it as a figure of selftest, or say in a comment "
           f"'{ALLOWED} ...' why it holds on any")
    for pattern, find in (("*_test.cpp", of_cpp), ("test_*.py", of_python)):
        for path in files(root / "tests", pattern):
            found += [f"{path.relative_to(root)}:{line}: {why}" for line in find(path.read_text())]
    return found


def cpp(body: str) -> dict:
    return {"tests/a_test.cpp": f"TEST(Some, Test) {{\n{body}\n}}\n"}


def python(body: str, fixtures: str = "reductio") -> dict:
    return {"tests/test_a.py": f"def test_a({fixtures}):\n    {body}\n"}


PLANTED = [
    cpp("const auto i = make_instruments(*backend);\nEXPECT_LT(*i.timer->sample(c).seconds, 1e-3);"),
    python('rows = reductio("run", "cpu").rows()\n    assert float(rows[0]["time_median_s"]) < 1e-3'),
    cpp("const double start = host_now();\nEXPECT_GE(host_now() - start, 0);  // any machine: never back\nEXPECT_LT(host_now() - start, 5);"),
    cpp("const double start = host_now();\nwork();\nEXPECT_LT(host_now() - start, 5);"),
    cpp("const double start = host_now(), waited_s = wait() - start;\nASSERT_LE(waited_s, 0.1) << \"slow\";"),
    cpp("const auto its = make_instruments(*backend);\nEXPECT_NEAR(longer_s, 200e-6, 20e-6);"),
    cpp("p = make_host_instruments(*backend).monitor->probe_cache().value();\nEXPECT_TRUE(std::min(p.cold_clean_s, p.cold_dirty_s) > 1.3 * p.warm_s);"),
    cpp("s.instruments = make_host_instruments(*s.backend);\nEXPECT_GT(*row.time_median_s, 1e-7);"),
    cpp("s.instruments = make_host_instruments(*s.backend);\nEXPECT_LT(*rows[0].launch_floor_s, *rows[1].time_median_s);"),
    cpp("auto t = std::chrono::steady_clock::now();\nEXPECT_GE(elapsed, 3);"),
    cpp("usleep(1000);\nEXPECT_LE(run.at(\"time_spent\").at(\"wall_s\").get<double>(), 1);"),
    cpp("EXPECT_EQ(compare_all(measured(make_instruments(b))).rows[0].verdict, Verdict::same);"),
    {"tests/a_test.cpp": "TEST(A, Fine) { EXPECT_LT(made_up_s, 5); }\nTEST(A, Not) {\n  host_now();\n  EXPECT_LT(real_s, 5);\n}\n"},
    python("start = time.monotonic()\n    assert time.monotonic() - start < 3"),
    python("begin = perf_counter()\n    elapsed = perf_counter() - begin\n    assert elapsed < 3"),
    python('out = reductio("compare", "a", "b").ok()\n    assert out.count("SLOWER") == 2'),
    python('rows = reductio("compare", "a", "b", "--csv").rows()\n    assert 0.5 < float(rows[0]["ratio"]) < 2'),
    python('assert reductio("compare", "a", "b", "--fail-if-slower").code == 3'),
    python('told = json.loads(reductio("selftest").out)\n    assert math.isclose(told["planted"][0]["ratio"], 1, rel_tol=0.1)'),
    python('told = json.loads(reductio("selftest").out)\n    assert told["itself"]["time_s"] < 1'),
]
CLEAN = [
    cpp("const double start = host_now();\nEXPECT_LT(host_now() - start, 300);  // any machine: longer is a hang"),
    cpp("Clock clock([](auto, auto) { return 1e-5; });\nEXPECT_NEAR(*row.time_median_s, 1e-5, 1e-7);"),
    cpp("s.instruments = make_host_instruments(*s.backend);\nEXPECT_GT(*row.time_median_s, 0);\nEXPECT_EQ(row.n_samples, 48u);"),
    cpp("s.instruments = make_instruments(*s.backend);\nEXPECT_LE(*row.time_min_s, *row.time_median_s);\nEXPECT_EQ(result, 10u);"),
    cpp("// host_now()\nEXPECT_LT(made_up_s, 5);"),
    python('out = reductio("compare", a, b).ok()\n    assert out.count("SLOWER") == 2', "reductio, planted"),
    python('rows = reductio("compare", "a", "b", "--csv").rows()\n    assert rows[0]["verdict"] in VERDICTS'),
    python('told = json.loads(reductio("selftest").out)\n    assert told["itself"]["time_s"] > 0'),
    python('assert reductio("compare", "a", "--max-samples", "5").code == 4  # any machine: too few for an interval'),
]
