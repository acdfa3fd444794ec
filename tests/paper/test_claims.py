"""What claims.json says of its verdicts, and which of them two GPUs can agree about."""

import json
import re

import pytest
from project import SOURCE

import claims
from report import results as rs

COMMITTED = SOURCE / "experiments" / "results"
HERE, THERE, FOR_BOTH = "nvidia-h200", "nvidia-h100-80gb-hbm3", "nvidia-h100-claims"
OF_A_CPU, OF_TABLES = {"T5", "U7"}, {"T1", "T7", "L9"}


def test_verdicts_are_told_in_the_order_in_which_the_program_takes_the_worst():
    source = (SOURCE / "src" / "measure" / "analysis" / "verdicts.cpp").read_text()
    words = dict(re.findall(r'(\w+) = "([a-z0-9 %]+)"[,;]', source))
    order, = re.findall(r"worst_first\{(.*?)\}", source)
    told, = re.findall(r"the worst of theirs: (.*?)\. ", " ".join(json.loads(claims.FILE.read_text())["reading"]).replace("   ", " "))
    assert told.split(", ") == [words[name] for name in order.split(", ")] and set(told.split(", ")) == set(claims.VERDICTS)


@pytest.fixture
def folders(tmp_path) -> tuple[rs.Results, rs.Results]:
    """Two GPUs' folders, and beside them the tables that one of the two made for both."""
    for name in (HERE, THERE, FOR_BOTH):
        (tmp_path / name).mkdir()
        for path in (COMMITTED / name).iterdir():
            (tmp_path / name / path.name).symlink_to(path)
    return rs.Results(tmp_path / HERE), rs.Results(tmp_path / THERE)


def decided(here: rs.Results, there: rs.Results) -> set[str]:
    both = claims.beside(here, there)
    return set(both[(both["role"] == claims.CLAIM) & both["decided"]]["claim"])


def test_what_one_gpu_made_for_both_is_no_agreement_of_two(folders):
    here, there = folders
    assert claims.judged_elsewhere(here) == OF_A_CPU | OF_TABLES and claims.judged_elsewhere(there) == OF_A_CPU
    assert not decided(here, there) & (OF_A_CPU | OF_TABLES)


def test_a_table_of_each_gpu_is_counted(folders):
    here, there = folders
    before = decided(here, there)
    for name in ("as-printed.csv", "copies.csv"):
        text = (there.folder_of(name) / name).read_text()
        (here.folder / name).write_text(text.replace(there.machine.gpu, here.machine.gpu))
    own, there = rs.Results(here.folder), rs.Results(there.folder)
    assert claims.judged_elsewhere(own) == OF_A_CPU and decided(own, there) == before | OF_TABLES
    (here.folder / "copies.csv").write_text((there.folder_of("copies.csv") / "copies.csv").read_text())
    assert claims.judged_elsewhere(rs.Results(here.folder)) == OF_A_CPU | {"L9"}, "copied from the other GPU"


def test_a_folder_alone_has_none_of_the_tables_beside_it(folders):
    here, there = folders
    assert OF_TABLES <= claims.judged_elsewhere(rs.Results(there.folder, alone=True))
