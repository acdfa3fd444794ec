"""Pages that are made once, and one headless browser for all tests of them."""

import gzip
import re
import shutil
from pathlib import Path

import browser
import pandas as pd
import pytest
from browser import RESULTS
from project import forget_hashes


def made_of(folder: Path) -> Path:
    """What `reductio report` makes of samples, but of each context the first alone, and speedups of 2 over the fastest."""
    table = pd.read_csv(folder / "comparison.samples.csv", dtype=str, keep_default_na=False)
    lists = ["round", "context", "time_s"]

    def first(row: pd.Series) -> list[str]:
        at = {}
        for values in zip(*(row[c].split() for c in lists)):
            at.setdefault(values[1], values)
        return [" ".join(column) for column in zip(*at.values())]

    table[lists] = [first(row) for _, row in table.iterrows()]
    made = folder.parent / "made"
    made.mkdir()
    table.assign(voided="").to_csv(made / "means.csv", index=False)
    table.assign(base="fastest", speedup="2", ci_low="1.9", ci_high="2.1").to_csv(made / "speedups.csv", index=False)
    return made


@pytest.fixture(scope="session")
def h200(tmp_path_factory):
    """The page of a part of the committed results: to open that of all takes twice as long."""
    from report import page as report

    folder = tmp_path_factory.mktemp("h200") / "nvidia-h200"
    folder.mkdir()
    for name in ("catalog.csv", "levels.csv", "limits.csv", "machine.json", "narrow.csv", "verdicts.csv"):
        shutil.copy(RESULTS / "nvidia-h200" / name, folder)
    for name, part in (("comparison.csv.gz", ",(sum|sum_of_squares),(f32|f64),|,refused,|^schema_version"),
                       ("accuracy.csv.gz", ",random,|^schema_version"),
                       ("comparison.samples.csv.gz", ",(twopass/rolled|cub/sum),sum,f32,|^run_id")):
        with gzip.open(RESULTS / "nvidia-h200" / name, "rt") as file:
            (folder / name.removesuffix(".gz")).write_text("".join(filter(re.compile(part).search, file)))
    forget_hashes(folder)
    text, missing = report.make([folder], [made_of(folder)])
    assert missing == []
    path = folder.parent / "report.html"
    path.write_text(text)
    return path


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    try:
        started = browser.start(tmp_path_factory.mktemp("downloads"))
    except browser.NoBrowser as why:
        pytest.skip(str(why))
    yield started
    started.quit()


@pytest.fixture
def page(driver):
    return browser.Page(driver)
