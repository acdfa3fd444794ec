"""The pages make one site, by ./reproduce's own step: strictly, so that each link and anchor leads somewhere and the
navigation leaves out no page."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from project import SOURCE

pytest.importorskip("material", reason="no mkdocs-material here: pip install -r requirements.txt")


def build(project: Path) -> subprocess.CompletedProcess:
    """As ./reproduce does, in a copy."""
    step = re.search(r"^site\(\) \{.*?^\}", (SOURCE / "reproduce").read_text(), re.MULTILINE | re.DOTALL).group()
    script = f"set -u; finished() {{ false; }}; finish() {{ :; }}; hash_of() {{ :; }}; logged() {{ shift; \"$@\"; }}\n{step}\nsite"
    (project / ".venv" / "bin").mkdir(parents=True, exist_ok=True)
    python = project / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return subprocess.run(["bash", "-c", script], cwd=project, env={**os.environ, "venv": str(project / ".venv")},
                          capture_output=True, text=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """What is committed, without the results, and a page of results."""
    folder = tmp_path_factory.mktemp("site") / "project"
    for part in ("baselines", "cmake", "docs", "paper", "src", "tests"):
        shutil.copytree(SOURCE / part, folder / part, ignore=shutil.ignore_patterns("generated", "__pycache__"))
    for file in ("README.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE", "requirements.txt",
                 "experiments/trials.csv", "experiments/results/README.md"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / file, folder / file)
    (folder / "out").mkdir()
    (folder / "out" / "report.html").write_text("the page of results")
    return folder


@pytest.fixture(scope="module")
def site(project) -> Path:
    done = build(project)
    assert done.returncode == 0, done.stdout + done.stderr
    return project / "out" / "site"


class Links(HTMLParser):
    def __init__(self, page: Path):
        super().__init__()
        self.found: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("href", "src") and value]


def test_each_page_is_there_and_links_only_to_what_is_there(site):
    pages = [Path("index.html"), Path("CONTRIBUTING.html"), *(Path("docs") / f"{p.stem}.html" for p in (SOURCE / "docs").glob("*.md"))]
    for page in pages:
        for link in Links(site / page).found:
            if not re.match(r"https?:|data:|#", link):
                target = (site / page).parent / re.split("[#?]", link)[0]
                assert target.exists(), f"{page}: {link}"
    assert (site / "report.html").read_text() == "the page of results"
    assert "../report.html" in Links(site / "docs" / "tuned.html").found


def test_it_asks_the_network_for_nothing_and_a_search_has_all_pages(site):
    fetched = re.compile(r'<(?:script|img|iframe)[^>]+src="(https?:[^"]+)|<link[^>]+href="(https?:[^"]+)')
    assert fetched.search('<script src="https://x/y.js">')
    assert [p.name for p in site.rglob("*.html") if p.name != "report.html" and fetched.search(p.read_text(encoding="utf-8"))] == []
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert all(words in index for words in ("multiblock/last-block-warp", "__threadfence", "docs/simulating.html"))


@pytest.mark.parametrize("planted, said", [("[x](docs/none.md)", "docs/none.md"), ("[x](docs/tuned.md#none)", "#none"),
                                           ("", "docs/stray.md")])
def test_what_leads_nowhere_and_a_page_that_the_navigation_lacks_fail(project, planted, said):
    readme, stray = project / "README.md", project / "docs" / "stray.md"
    text = readme.read_text()
    try:
        if planted:
            readme.write_text(text + planted)
        else:
            stray.write_text("# Stray\n")
        done = build(project)
    finally:
        readme.write_text(text)
        stray.unlink(missing_ok=True)
    assert done.returncode != 0 and said in done.stdout + done.stderr
