"""The goals of tuned: judged by rows and contrasts, each planted miss is found, and the committed goals.csv is what the
committed data give."""

import json

import pandas as pd
import pytest
import synthetic
from project import SOURCE, judge

from contrasts import asked as contrast_list
from report import tables as tb
from text.tuned import WORST_FIRST

MET, MISSED, ABSENT = "met", "missed", "not measured"
# What one results folder does not decide: there is no other GPU beside it.
OPEN = {"elsewhere-cold", "elsewhere-graph"}
WAYS = {"tuned/cold": ("device", "cold_dirty"), "tuned/clean": ("device", "cold_clean"), "tuned/warm": ("device", "warm"),
        "tuned/graph": ("graph", "warm"), "tuned/odd": ("device", "cold_dirty"), "tuned/odd-start": ("device", "cold_dirty")}
NEWEST = {name.replace("tuned/", "newest/"): way for name, way in WAYS.items()}
# Over one CUB and the other, on data of three kinds.
MAGNITUDES = {f"{over}/{data}/{name}": way for over in ("tuned", "newest") for data in ("2^-66", "2^70", "giants")
              for name, way in (("cold", ("device", "cold_dirty")), ("graph", ("graph", "warm")))}


def contrast(name: str, row: dict, value: float) -> dict:
    verdict = "FASTER" if value > 1.02 else "SLOWER" if value < 0.98 else "UNDECIDED"
    return {**dict.fromkeys(tb.TABLES["contrasts"].names, ""), "schema_version": tb.SCHEMA_VERSION, "name": name,
            "enough": "yes", **{c: row[c] for c in ("operation", "element_type", "timing_mode", "cache_state", "n")},
            "value": value, "ci_low": 0.99 * value, "ci_high": 1.01 * value, "verdict": verdict}


def contrasts(tuned: list[dict], narrow: list[dict], newest: dict[str, float]) -> list[dict]:
    """As the program makes them of paper/contrasts.json; over the newest CUB and at other magnitudes 1.4, or what `newest`
    says."""
    rows = []
    for r in narrow:
        if (r["variant"], r["operation"]) == ("tuned/sum", "sum"):
            rows += [contrast("tuned/narrow", r, r["speedup"]), contrast("newest/narrow", r, newest.get("newest/narrow", 1.4))]
    host = [r for r in tuned if r["timing_mode"] == "end_to_end"]
    time = {(r["variant"] + r["settings"], r["element_type"], r["n"]): r["time_median_s"] for r in host}
    for r in tuned:
        key = r["element_type"], r["n"]
        if r["variant"] == "tuned/sum":
            rows += [contrast(name, r, newest.get(name, 1.4) if name in NEWEST else r["speedup"])
                     for name, way in (WAYS | NEWEST).items() if (r["timing_mode"], r["cache_state"]) == way
                     and bool(int(r["offset_elements"] or 0)) == name.endswith("-start")]
            rows += [contrast(name, r, newest.get(name, 1.4)) for name, way in MAGNITUDES.items()
                     if (r["timing_mode"], r["cache_state"]) == way and r["element_type"] != "i32" and r["n"] in (2**14, 2**20)]
        elif r["variant"] == "tuned/sum-to-host":
            rows += [contrast(name, r, time[(f"thrust/reduceallocator={allocator}", *key)] / r["time_median_s"])
                     for name, allocator in (("to-host/thrust", "default"), ("to-host/thrust-caching", "caching"))]
    return rows


def written(path, tuned, narrow, **newest):
    return synthetic.write_folder(path, tuned=tuned, narrow=narrow, contrasts=contrasts(tuned, narrow, newest))


@pytest.fixture(scope="module")
def few():
    """Rows at fewer sizes and of two types, which is quicker."""
    return (synthetic.tuned_rows((2**12, 2**14, 3000001, 2**28), ("i32", "f64")), synthetic.narrow_rows((2**10, 2**30)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, few):
    return written(tmp_path_factory.mktemp("goals") / "synthetic", *few)


def judged(folder) -> pd.DataFrame:
    return tb.read_table(judge(folder) / "goals.csv", tb.TABLES["goals"])


def verdicts(rows: pd.DataFrame) -> pd.Series:
    """By goal: met if all is that it demands."""
    asked = rows[rows["demanded"].notna()]
    return asked.groupby("goal", sort=False)["verdict"].agg(lambda verdicts: min(verdicts, key=WORST_FIRST.index))


def by_goal(folder) -> pd.Series:
    return verdicts(judged(folder))


@pytest.fixture(scope="module")
def rows(folder):
    return judged(folder)


def row_of(rows, goal, quantity, at=0):
    return rows[(rows["goal"] == goal) & (rows["quantity"] == quantity) & rows["demanded"].notna()].iloc[at]


def test_where_everything_is_met_it_says_so(rows):
    goals = pd.read_csv(SOURCE / "paper" / "goals-set.csv")["goal"].unique()
    assert verdicts(rows).to_dict() == {g: ABSENT if g in OPEN else MET for g in goals}


def test_means_and_extremes_are_those_of_the_points(rows):
    gains = synthetic.TUNED_GAINS
    parts = rows[rows["demanded"].isna()].set_index(["timing_mode", "cache_state", "element_type"])["measured"]
    assert len(parts) == 8 and parts["device", "warm", "i32"] == pytest.approx(1.4, rel=1e-5)
    least = row_of(rows, "sums", "least_speedup")
    assert least["measured"] == pytest.approx(0.9 * gains["device", "cold_clean"], rel=1e-5) and least["at"] == "f64 device cold_clean"
    assert (least["low"], least["high"]) == pytest.approx((0.99 * least["measured"], 1.01 * least["measured"]), rel=1e-5)
    # 4 sizes, one of them at half a percent over the read ceiling.
    assert row_of(rows, "cold", "ceiling")["measured"] == pytest.approx(1 / (1.02**3 * 1.005) ** 0.25, rel=1e-5)
    large = row_of(rows, "large", "least_ceiling")
    assert large["measured"] == pytest.approx(1 / 1.005) and large["low"] == pytest.approx(large["measured"] / 1.01, rel=1e-5)
    assert row_of(rows, "ragged", "slower")["points"] == row_of(rows, "ragged", "speedup")["points"] == 2 * (3 * 2 + 4)
    assert row_of(rows, "narrow", "slower")["points"] == 3 * 2, "wide sums are no goal's"
    floor = row_of(rows, "host-empty", "over_empty_s")
    assert floor["measured"] == pytest.approx(4e-6 + 1.02 * (4e-6 + 2**15 / 4.5e12) - synthetic.POLLED_FLOOR, rel=1e-5)
    assert rows["low"][rows["quantity"].isin(["speedup", "ceiling", "slower"])].isna().all()


def slow(factor, **where):
    """The speedup over CUB is so many times as high."""
    def change(row):
        if row["variant"].startswith("tuned/") and all(str(row[k]) == str(v) for k, v in where.items()):
            return {**row, **{c: factor * row[c] for c in ("speedup", "speedup_ci_low", "speedup_ci_high")}}
        return row
    return change


# What is planted, in which experiment, and the goals that are missed by it.
PLANTED = {
    "one slower point": (slow(0.5, n=2**12, element_type="f64", timing_mode="graph"), 0, {"sums"}),
    "one near tie": (slow(1 / 1.3 * 0.985, n=2**12, element_type="i32", timing_mode="device", cache_state="cold_dirty",
                          offset_elements=0), 0, {"sums"}),
    "many undecided": (slow(1 / 1.3, element_type="i32", timing_mode="device", cache_state="cold_dirty",
                            offset_elements=0), 0, {"sums", "ragged"}),
    "a graph no faster": (slow(0.8, timing_mode="graph"), 0, {"graph"}),
    "off by one": (slow(0.9, offset_elements=1), 0, {"ragged"}),
    "moments": (slow(0.9, operation="moments"), 1, {"moments"}),
    "a narrow type": (slow(0.7, element_type="i8", operation="sum"), 1, {"narrow"}),
    "CUB to the host": (slow(0.9, timing_mode="end_to_end"), 0, {"host-others"}),
    "far from the ceiling": (lambda r: {**r, "share_of_read_ceiling": 0.9} if r["variant"] == "tuned/sum" and
                             r["n"] >= 2**28 and r["cache_state"] == "warm" else r, 0, {"large"}),
    "far from an empty call": (lambda r: {**r, "polled_launch_floor_s": 6e-6} if r["timing_mode"] == "end_to_end" else r,
                               0, {"host-empty"}),
    "Thrust": (lambda r: {**r, "time_median_s": 0.8 * r["time_median_s"]} if r["settings"] == "allocator=default" else r,
               0, {"host-thrust"}),
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_miss_is_found(tmp_path, few, what):
    change, experiment, missed = PLANTED[what]
    changed = [list(map(change, table)) if k == experiment else table for k, table in enumerate(few)]
    found = by_goal(written(tmp_path / "synthetic", *changed))
    assert set(found.index[found == MISSED]) == missed


@pytest.mark.parametrize("contrast, missed", [
    ("newest/warm", {"newest"}), ("newest/graph", {"newest", "newest-graph"}), ("newest/odd-start", {"newest-ragged"}),
    ("newest/odd", {"newest-ragged"}), ("newest/cold", {"newest"}), ("newest/narrow", {"newest-narrow"}),
    ("tuned/2^70/cold", {"magnitudes"}), ("newest/giants/graph", {"newest-magnitudes"})])
def test_a_planted_miss_over_the_newest_cub_is_found(tmp_path, few, contrast, missed):
    found = by_goal(written(tmp_path / "synthetic", *few, **{contrast: 0.9}))
    assert set(found.index[found == MISSED]) == missed


def test_the_newest_cub_of_the_contrasts_is_the_newest_that_the_program_compiles():
    *_, newest = (line.split()[0] for line in (SOURCE / "cmake" / "cccl_releases.txt").read_text().splitlines()
                  if line and not line.startswith("#"))
    over = {point[1] for name, asked in contrast_list().items() if name.startswith("newest/") for point in asked.points}
    assert over == {f"cub@{newest}/sum", "tuned/sum:reading=auto"}


def test_what_was_not_measured_is_no_verdict(tmp_path, few):
    lacking = [{k: v for k, v in r.items() if k != "polled_launch_floor_s"} for r in few[0]]
    folder = written(tmp_path / "synthetic", lacking, few[1])
    (folder / "contrasts.csv").unlink()
    rows, found = judged(folder), by_goal(folder)
    over_newest = {"newest", "newest-graph", "newest-ragged", "newest-narrow", "newest-magnitudes", "magnitudes"}
    assert set(found.index[found == ABSENT]) == {"sums", "ragged", "narrow", "host-thrust", "host-others", "host-empty",
                                                 *over_newest, *OPEN}
    assert row_of(rows, "host-empty", "over_empty_s")["points"] == 0


def test_rows_of_other_data_are_no_goals_points(tmp_path, few):
    rows = synthetic.tuned_rows((2**16, 2**20, 2**28))
    folder = written(tmp_path / "synthetic", rows, few[1])
    before = (judge(folder) / "goals.csv").read_text()
    assert len(others := synthetic.of_other_magnitudes(rows)) > 10
    synthetic.write_csv(folder / "tuned.csv", rows + others)
    assert (judge(folder) / "goals.csv").read_text() == before


def test_a_goal_of_which_a_point_failed_is_not_measured(tmp_path, few):
    def failing(r):
        is_it = (r["variant"], r["n"], r["timing_mode"]) == ("tuned/sum", 2**14, "graph")
        return {**r, "status": "wrong"} if is_it else r

    folder = written(tmp_path / "synthetic", *few)
    synthetic.write_csv(folder / "tuned.csv", list(map(failing, few[0])))
    found = by_goal(folder)
    assert found["graph"] == found["sums"] == ABSENT and found["cold"] == MET
    lacking = contrasts(*few, {})
    next(r for r in lacking if r["name"] == "newest/warm").update(value="", ci_low="", ci_high="", verdict="")
    found = by_goal(synthetic.write_folder(tmp_path / "other", tuned=few[0], narrow=few[1], contrasts=lacking))
    assert found["newest"] == ABSENT and found["newest-graph"] == MET
    synthetic.write_csv(folder / "tuned.csv", list(map(failing, map(slow(0.5, n=2**12, timing_mode="graph"), few[0]))))
    assert by_goal(folder)["sums"] == MISSED, "a point that failed hides no miss"


def test_another_gpu_is_judged_by_its_own_demands(tmp_path, few):
    here, other = (written(tmp_path / name, *few) for name in ("synthetic", "other"))
    assert by_goal(here)["elsewhere-cold"] == ABSENT, "another card of the model"
    (other / "machine.json").write_text(json.dumps(synthetic.OTHER_GPU))
    found = by_goal(here)
    assert found["elsewhere-graph"] == MET and found["elsewhere-cold"] == MISSED  # f64: 1.17 and 1.125
    (other / "machine.json").write_text(json.dumps(synthetic.OTHER_GPU).replace(synthetic.OTHER_GPU["gpu"]["name"], "NVIDIA H200"))
    assert by_goal(here)["elsewhere-cold"] == ABSENT, "the GPU that the table was made on"


def test_goals_are_written_where_tuned_was_measured(tmp_path, few):
    folder = written(tmp_path / "synthetic", *few)
    assert (judge(folder) / "goals.csv").exists()
    for file in ("tuned.csv", "goals.csv"):
        (folder / file).unlink()
    assert not (judge(folder) / "goals.csv").exists()
