"""Raw samples are read by point, whether a record holds one of them or all of a point's."""

import csv
import gzip

import numpy as np
import pytest
import results as rs
import samples

POINT = dict.fromkeys(rs.SAMPLES_KEY, "x") | dict(n="1024", seed="1", offset_elements="0", caller="", context="")
KEY = tuple(int(v) if v.isdigit() else v for v in POINT.values())


def written(path, records):
    with gzip.open(path, "wt", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    return path


def listed(**of) -> dict:
    return POINT | dict(round="0 2 1", allocation="0 1 0", time_s="1e-6 3e-6 2e-6", device_part_s="", cycles="", voided="no no no") | of


def test_a_points_samples_stand_by_round(tmp_path):
    read = samples.read(written(tmp_path / "s.csv.gz", [listed(), listed(variant="y", cycles="5 6 ", time_s="")]))
    assert len(list(read)) == 2 and read.get("nothing") is None
    point = read.get(KEY)
    assert point.rounds.tolist() == [0, 1, 2] and point.allocation.tolist() == [0, 0, 1]
    assert point.times("time_s").tolist() == [1e-6, 2e-6, 3e-6] and np.isnan(point.times("device_part_s")).all()
    # Timed by cycles alone; the sample that has neither is left out.
    other = read.get(tuple("y" if c == "variant" else v for c, v in zip(rs.SAMPLES_KEY, KEY)))
    assert other.times("cycles").tolist() == [5, 6] and other.rounds.tolist() == [0, 2]


def test_void_rounds_are_left_out(tmp_path):
    point = samples.read(written(tmp_path / "s.csv.gz", [listed(voided="no yes no")])).get(KEY)
    assert point.rounds.tolist() == [0, 1] and point.times("time_s").tolist() == [1e-6, 2e-6]


def test_a_record_for_each_sample_is_read_as_well(tmp_path):
    columns = ("round", "allocation", "time_s", "device_part_s", "cycles", "voided")
    one_each = [POINT | dict(zip(columns, values)) for values in (("0", "0", "1e-6", "", "", "no"),
                                                                 ("2", "1", "3e-6", "", "", "no"),
                                                                 ("1", "0", "2e-6", "", "", "no"))]
    without = [{c: f for c, f in r.items() if c not in rs.SAMPLES.optional} for r in one_each]
    for name, records in {"long": one_each, "before some columns": without}.items():
        point = samples.read(written(tmp_path / f"{name}.csv.gz", records)).get(KEY)
        assert point.rounds.tolist() == [0, 1, 2] and point.allocation.tolist() == [0, 0, 1], name
        assert point.times("time_s").tolist() == [1e-6, 2e-6, 3e-6], name


@pytest.mark.parametrize("damage, said", [
    (dict(time_s="1e-6 2e-6"), "has 2 values for time_s and 3 for round in one record"),
    (dict(time_s="1e-6 soon 3e-6"), "s.csv.gz has 'soon' for time_s in one record, which is no such number"),
    (dict(time_s="1e-6 inf 3e-6"), "'inf' for time_s"), (dict(time_s="1e-6 0 3e-6"), "'0' for time_s"),
    (dict(round="0  1"), "has '' for round in one record"), (dict(allocation=""), "has '' for allocation in one record"),
    (dict(round="0 1 1.5"), "has '1.5' for round in one record"),
])
def test_lists_that_are_damaged_are_one_line(tmp_path, damage, said):
    read = samples.read(written(tmp_path / "s.csv.gz", [listed(**damage)]))
    with pytest.raises(rs.ResultsError, match=said):
        read.get(KEY)
