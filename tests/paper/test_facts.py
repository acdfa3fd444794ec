"""Sentences that people wrote about the measurements are true of the committed CSV."""

import re

import pytest
from project import SOURCE
from synthetic import GPU, NEWEST_CUB, catalog_rows, gpu_rows, speedup_of, timed, write_contrasts, write_folder

from facts import Fact, facts
from report import results as rs
from query import Mistake

PAGES = ["README.md", *(f"docs/{p.name}" for p in sorted((SOURCE / "docs").glob("*.md")))]


@pytest.mark.parametrize("fact", facts(), ids=lambda f: f"{f.page}: {f.sentence}"[:80])
def test_what_is_said_is_so(fact):
    assert fact.wrong(SOURCE) == ""


def without_facts(page: str, text: str) -> list[str]:
    """Intervals in a page, beside its generated tables, code and links, that no fact holds."""
    text = re.sub(r"<!-- (generated:\S+) .*?<!-- end of \1 -->|```.*?```|\]\([^)]*\)", " ", text, flags=re.S)
    intervals = re.findall(r"[\d.,]+ \[[\d., ]+\]", " ".join(text.split()))
    return [i for i in intervals if not any(f.page == page and i in f.sentence for f in facts())]


PLANTED = ("a <!-- generated:x by y -->\n1.0 [0.9, 1.1]\n<!-- end of generated:x --> b 3.21 [3.01,\n3.31] "
           "```2 [1, 3]``` [7](d)")


@pytest.mark.parametrize("page", PAGES)
def test_each_interval_that_is_typed_is_held_by_a_fact(page):
    text = (SOURCE / page).read_text()
    assert without_facts(page, text) == [] and without_facts(page, text + PLANTED) == ["3.21 [3.01, 3.31]"]


@pytest.fixture
def project(tmp_path):
    point = dict(variant="a/b", n=4)
    folder = write_folder(tmp_path / "experiments" / "results" / "nvidia-h200", [
        timed(1.2344e-6, **point, settings="block=64;finish=x") | speedup_of(1, 1.98),
        timed(2e-6, **point, settings="block=128;finish=x")])
    write_contrasts(folder, {"S2": 1.2, "S3": None})
    (tmp_path / "page.md").write_text("One takes\n1.23 us, a speedup of 1.98 [1.97, 1.99]; 1,234 of them.")
    return tmp_path


@pytest.mark.parametrize("words, query, wrong", [
    ("takes <1.23> us", 'us("a/b:block=64", 4)', ""),
    ("of <1.98>", 'measured("a/b:block=64,finish=x", 4)["speedup"]', ""),
    ("<1.98> [<1.97>, <1.99>]", '(1.98, 1.971, 1.989)', ""),
    ("<1,234> of them", '1234.4', ""),
    ("<1,234> of them", '[*{1234, 1235}]', 'page.md says "1,234 of them"; by the data: 1234, 1235'),
    ("One takes", 'us("a/b:block=64", 4) < us("a/b:block=128", 4)', ""),
    ("takes <1.23> us", 'us("a/b:block=128", 4)', 'page.md says "takes 1.23 us"; by the data: 2'),
    ("One takes", '1 > 2', 'page.md says "One takes"; by the data it is False'),
    ("One takes", '"another"', 'page.md says "One takes"; by the data it is another'),
    ("takes <1.24> us", '1.24', 'page.md says "takes 1.24 us" no longer: drop its fact, or mend its words'),
    ("takes <1.23> us", 'us("a/b", 4)', "comparison has 2 rows of a/b"),
    ("takes <1.23> us", 'contrast("S3")', "not in the data: S3: "),
    ("takes <1.23> us", 'contrast("S2")', "by the data: 1.2"),
])
def test_a_sentence_that_is_no_longer_true_is_named(project, words, query, wrong):
    said = Fact("page.md", words, query).wrong(project)
    assert said == "" if not wrong else wrong in said


@pytest.fixture
def two_machines(project):
    """Both measured a/b with 64 threads a block; another folder has nothing of it."""
    for name, time in (("nvidia-other", 1.5e-6), ("nvidia-third", None)):
        write_folder(project / "experiments" / "results" / name, [
            timed(time or 1e-6, variant="a/b" if time else "a/c", n=4, settings="block=64;finish=x")])
    (project / "page.md").write_text("It takes 1.23 us, never more than 2 us. It never takes more than 1.4 us.")
    return project


def test_a_sentence_of_all_cases_is_asked_of_every_committed_folder(two_machines):
    def wrong(words: str, query: str) -> str:
        return Fact("page.md", words, query).wrong(two_machines)

    most = 'us("a/b:block=64", 4) < 1.4'
    assert wrong("It never takes more than 1.4 us", most) == (
        'page.md says "It never takes more than 1.4 us"; by the data it is False in nvidia-other: say of which machine it '
        "is, or mend it")
    assert wrong("takes more than 1.4 us", most) == ""
    assert wrong("It never takes more than 1.4 us", f"here: {most}") == ""
    assert wrong("never more than 2 us", 'us("a/b:block=64", 4) < 2') == ""
    assert wrong("It takes <1.23> us, never more than 2", 'us("a/b:block=64", 4)') == "", "a number is of one machine"


@pytest.mark.parametrize("rate, said", [(3.9e12, ""), (4.0e12, "; by the data it is False")])
def test_that_only_ours_is_as_fast_as_cub_is_asked_of_the_newest_cub_too(tmp_path, rate, said):
    """At 4.0 TB/s, CUB's own rate, it gains by the launch that it saves where the order of adding may vary."""
    fact, = (f for f in facts() if f.sentence == "On the device, of these calls only our own")
    (cub, (*call, _, launch, n)), = NEWEST_CUB.items()
    gpu = GPU | {"tuned/sum": (["sum"], ["reading=auto"], "device", 4.2e12, 4e-6, 0), cub: (*call, rate, launch, n)}
    folder = write_folder(tmp_path / "m", gpu_rows(types=("f32",), sizes=[2**24, 2**28], gpu=gpu), catalog_rows(gpu))
    assert fact.unlike(rs.Results(folder)) == said


@pytest.mark.parametrize("query", ['rows("comparison")["time_median_s"].mean()', 'rows("comparison")["n"].median() == 4',
                                   'rows("comparison").__class__', "rows.__self__.folder"])
def test_a_query_looks_up_and_computes_no_statistic(project, query):
    with pytest.raises(Mistake, match="is nothing that a query asks; summarize computes"):
        Fact("page.md", "takes <1.23> us", query).wrong(project)


@pytest.mark.parametrize("name", ["open", "__import__", "eval", "facts", "pd"])
def test_a_query_knows_its_own_words_alone(project, name):
    with pytest.raises(NameError):
        Fact("page.md", "takes <1.23> us", name).wrong(project)
