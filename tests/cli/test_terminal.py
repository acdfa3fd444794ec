"""Colour and progress: only where a person looks."""

import os
import pty
import select
import subprocess

from conftest import BIN, HANGS_S

VERIFY = ["verify", "--device", "cpu", "--tier", "quick", "--variants", "^host/plain$"]


def on_a_terminal(*arguments, cwd=None, **environment):
    """What the program writes to a terminal that is both its stdout and its stderr."""
    ours, theirs = pty.openpty()
    ordinary = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"}
    process = subprocess.Popen([BIN, *arguments], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, cwd=cwd,
                               env=ordinary | environment)
    os.close(theirs)
    text = b""
    while select.select([ours], [], [], HANGS_S)[0]:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not chunk:
            break
        text += chunk
    os.close(ours)
    assert process.wait(timeout=HANGS_S) == 0, text
    return text.decode()


def test_what_is_read_stands_on_a_line_of_its_own(reductio, tmp_path):
    reductio("run", "cpu", "--variants", "^host/plain$", "--types", "i32", "--sizes", "2^10:2^13", "--quiet").ok()
    shown = on_a_terminal("models", cwd=tmp_path).replace("\r\n", "\n")
    folder = next((tmp_path / "out" / "results").iterdir()).relative_to(tmp_path)
    assert shown.startswith(f"reductio: note: reading {folder}\n\r\033[Kreading the samples\r\033[K"), shown


COLOURS = ("\033[1m", "\033[32m", "\033[0m")


def test_colour_on_a_terminal():
    assert "\033[1m" in on_a_terminal("list")
    assert "\033[32m" in on_a_terminal(*VERIFY)


def test_no_colour_where_it_is_not_wanted(reductio):
    assert "\033[" not in on_a_terminal("list", NO_COLOR="1")
    assert "\033[" not in on_a_terminal("list", TERM="dumb")
    assert not {"\033", "%"} & set(on_a_terminal(*VERIFY, TERM="dumb"))  # nor a progress line
    assert not any(c in on_a_terminal(*VERIFY, NO_COLOR="1") for c in COLOURS)
    assert "\033[" not in reductio("list").ok()
    # https://no-color.org: an empty variable does not count
    assert "\033[1m" in on_a_terminal("list", NO_COLOR="")


def test_progress_on_a_terminal_only(reductio, tmp_path):
    assert "%" in on_a_terminal(*VERIFY)
    assert "%" not in on_a_terminal(*VERIFY, "--quiet")
    done = reductio(*VERIFY)
    assert done.ok() and done.err == ""
    run = ["run", "cpu", "--variants", "^host/plain$", "--sizes", "2^10:2^13", "--types", "i32", "--out"]
    assert "/20 (" in on_a_terminal(*run, tmp_path / "a")  # 5 levels of optimisation, 4 sizes
    assert "/20 (" not in reductio(*run, "b").err
    shown = on_a_terminal("models", *(tmp_path / "a").iterdir())
    assert "reading the samples" in shown
