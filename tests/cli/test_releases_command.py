"""reductio releases, and compare with --types all."""

import csv
import io
import re


def test_the_known_releases_are_listed_with_their_machine_code(reductio):
    shown = reductio("releases").ok()
    rows = [line.split() for line in shown.splitlines() if re.match(r"\d+\.\d+\.\d+ ", line)]
    assert len(rows) == 18
    f32 = shown.splitlines()[0].split().index("f32")
    assert "".join(row[f32] for row in rows) == "ABCCCCCCDDEEFFFFFF"
    assert "by one nvcc" in shown
    assert "sm_120" in reductio("releases", "--architecture", "120").ok()
    columns = next(csv.reader(io.StringIO(reductio("releases", "--csv").ok())))
    assert {"architecture", "element_type", "code", "registers", "load_bytes", "releases"} <= set(columns)


def test_what_releases_cannot_read_is_refused(reductio, tmp_path):
    assert "the machine code is known for 80, 90, 120, not for 91" in reductio("releases", "--architecture", "91").error()
    assert "none" in reductio("releases", tmp_path / "none").error()
    reductio("run", "cpu", "--variants", "^host/plain$", "--types", "i32", "--set", "opt=O2", "--sizes", "2^10",
             "--out", "a").ok()
    assert "history" in reductio("releases", "a").error()
    assert "--effect" in reductio("releases", "a", "--effect", "x").error()


def test_all_types_are_compared_at_once(reductio):
    rows = reductio("compare", "host/plain", "host/unroll4", "--types", "all", "--sizes", "2^10", "--max-samples", "12",
                    "--contexts", "6", "--csv").rows()
    assert {row["element_type"] for row in rows} >= {"i32", "f32", "f64"}
    refused = reductio("compare", "host/plain", "host/unroll4", "--types", "every").error()
    assert "every" in refused
