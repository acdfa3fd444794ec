"""Runs every lint_*.py beside this file: over the project, over its planted violations, and over what is clean.

A lint is a file with `violations(root) -> list of lines`, `PLANTED` (each a {path: text} that must be reported) and
`CLEAN` (each a {path: text} that must not).
"""

import importlib
import os
import pathlib

import pytest

HERE = pathlib.Path(__file__).parent
ROOT = pathlib.Path(os.environ.get("REDUCTIO_SOURCE_DIR", HERE.parent.parent))
LINTS = {path.stem: importlib.import_module(path.stem) for path in sorted(HERE.glob("lint_*.py"))}


def plant(root, tree):
    for name, content in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def examples(kind):
    return [pytest.param(lint, tree, id=f"{name}-{i}")
            for name, lint in LINTS.items() for i, tree in enumerate(getattr(lint, kind))]


@pytest.mark.parametrize("name", LINTS)
def test_project_is_clean(name):
    problems = LINTS[name].violations(ROOT)
    assert not problems, "\n" + "\n".join(problems)


@pytest.mark.parametrize("name", LINTS)
def test_lint_has_examples(name):
    assert LINTS[name].PLANTED and LINTS[name].CLEAN


@pytest.mark.parametrize("lint, tree", examples("PLANTED"))
def test_planted_violation_is_reported(lint, tree, tmp_path):
    plant(tmp_path, tree)
    assert lint.violations(tmp_path)


@pytest.mark.parametrize("lint, tree", examples("CLEAN"))
def test_clean_text_is_not_reported(lint, tree, tmp_path):
    plant(tmp_path, tree)
    assert lint.violations(tmp_path) == []
