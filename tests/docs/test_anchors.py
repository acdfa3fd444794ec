"""A link to a heading of a page leads to one that is there. (That linked files exist is the lint of documents.)"""

import re
from pathlib import Path

import pytest
from project import SOURCE

PAGES = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted((SOURCE / "docs").glob("*.md"))]


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-")
            for head in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)}


def broken(page: Path) -> list[str]:
    return [f"{path}#{anchor}" for path, anchor in re.findall(r"\]\(([\w./-]*)#([^)\s]+)\)", prose(page))
            if anchor not in anchors((page.parent / path).resolve() if path else page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_to_headings_lead_there(page):
    assert broken(page) == []


def test_broken_links_are_found(tmp_path):
    (tmp_path / "b.md").write_text("# One heading, `two` words\n")
    (tmp_path / "a.md").write_text("# A\n[x](b.md#one-heading-two-words) [y](b.md#other) [z](#a) [w](#b)\n")
    assert broken(tmp_path / "a.md") == ["b.md#other", "#b"]
