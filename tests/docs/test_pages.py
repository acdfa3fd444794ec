"""A link to a heading of a page leads to one that is there, and each listing ends. (That linked files exist is the lint of
documents.)"""

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


def fences_in_order(text: str) -> bool:
    """Each listing that begins, with or without a language, ends by a fence without one."""
    inside = False
    for language in re.findall(r"^```(.*)$", text, re.MULTILINE):
        if inside and language.strip():
            return False
        inside = not inside
    return not inside


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_listings_end(page):
    assert fences_in_order(page.read_text())


def test_a_listing_without_an_end_is_found():
    assert fences_in_order("a\n```\nb\n```\nc\n```cuda\nd\n```\n")
    assert not fences_in_order("```\nb\n```\nc\n```\n")
    assert not fences_in_order("```\nb\n```cuda\nc\n```\n")
