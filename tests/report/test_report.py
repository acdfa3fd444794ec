"""What page.py makes of folders, good and bad: a page, or one line."""

import gzip
import shutil
import subprocess
import sys

import pytest
from browser import RESULTS
from project import SOURCE, forget_hashes

from report import page as report


@pytest.fixture
def folder(tmp_path):
    """A small folder of a CPU's rows."""
    shutil.copytree(RESULTS / "cpu-intel-xeon", tmp_path / "mine", ignore=shutil.ignore_patterns("vector_add*", "*.gz"))
    return tmp_path / "mine"


def test_a_page_is_written(folder, tmp_path):
    done = subprocess.run([sys.executable, SOURCE / "src" / "report", "page", folder, "--out", tmp_path / "page.html"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith(f"{tmp_path}/page.html: mine, ") and done.stdout.count("\n") == 1
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("spoil, message", [
    (lambda f: (f / "cpu.csv").unlink(), "holds no rows of an experiment"),
    (lambda f: (f / "cpu.csv").write_text(""), "is empty"),
    (lambda f: (f / "cpu.csv").write_text((f / "cpu.csv").read_text().replace("\n3,", "\n2,")), "schema version 2"),
    (lambda f: (f / "cpu.csv").write_text((f / "cpu.csv").read_text()[:5000]), "cut while being written"),
    (lambda f: (f / "cpu.csv").write_bytes(b"\xff\xfe\x00"), "is UTF-16"),
    (lambda f: (f / "machine.json").write_text("{"), "machine.json is not valid JSON"),
    (lambda f: (f / "machine.json").unlink(), "machine.json does not exist"),
    (lambda f: (f / "verdicts.csv").write_text("claim\n"), "verdicts.csv has a header but no rows"),
    (lambda f: (f / "limits.csv").write_text((f / "cpu.csv").read_text()[:5000]), "limits.csv: its last row has no"),
    (lambda f: shutil.rmtree(f), "is not a folder")])
def test_a_damaged_folder_is_one_line(folder, tmp_path, capsys, spoil, message):
    spoil(folder)
    assert report.main([str(folder), "--out", str(tmp_path / "page.html")]) == 1
    out, error = capsys.readouterr()
    assert out == "" and not (tmp_path / "page.html").exists()
    assert error.startswith("reductio: ") and error.count("\n") == 1 and message in error


@pytest.mark.parametrize("out, why", [(".", "it is a folder"), ("nowhere/page.html", "No such file or directory"),
                                      ("/dev/full", "No space left on device")])
def test_where_no_page_can_be_written_is_said_with_its_name(folder, tmp_path, capsys, monkeypatch, out, why):
    if why != "No space left on device":
        monkeypatch.setattr(report, "make", None)  # it is said before the work
    path = tmp_path / out
    assert report.main([str(folder), "--out", str(path)]) == 1
    assert f"reductio: cannot write {path}: {why}; choose another --out" in capsys.readouterr().err


def test_a_full_disk_keeps_the_earlier_page(folder, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("earlier")
    with subprocess.Popen(["sh", "-c", f"ulimit -f 8; exec {sys.executable} -c 'import signal, sys; "
                           "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); sys.path[:0] = sys.argv[1:2]; from report import page; "
                           "sys.exit(page.main(sys.argv[2:]))' \"$@\"", "sh", SOURCE / "src", folder, "--out", page],
                          stderr=subprocess.PIPE, text=True) as run:
        message = run.stderr.read()
    assert run.returncode == 1 and f"cannot write {page}: File too large" in message
    assert page.read_text() == "earlier" and [p.name for p in tmp_path.iterdir()] == ["mine", page.name]


def test_samples_that_do_not_belong_together_are_named(folder):
    text = gzip.decompress((RESULTS / "cpu-intel-xeon" / "cpu.samples.csv.gz").read_bytes()).decode()
    header, *lines = text.splitlines()
    at = header.split(",").index("time_s")
    spoilt = [",".join(f + " 1" if k == at and f else f for k, f in enumerate(line.split(","))) for line in lines]
    (folder / "cpu.samples.csv").write_text("\n".join([header, *spoilt, ""]))
    forget_hashes(folder)
    with pytest.raises(report.rs.ResultsError, match=r"cpu.samples.csv:\d+: round, context, time_s do not hold"):
        report.make([folder], samples=True)


@pytest.mark.parametrize("name", ["nvidia-h100-claims", "nvidia-h100-exact", "nvidia-h200-exact"])
def test_a_folder_without_an_experiments_rows_has_a_page_of_its_runs(name):
    text, missing = report.make([RESULTS / name])
    assert len(text) > 10_000 and len(missing) == 1 and "alone, no experiment's rows: the page has its machine" in missing[0]


def test_the_same_folder_twice_is_one_and_names_tell_folders_apart(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "after" / "mine")
    assert report.names_of([folder, tmp_path / "after" / "mine"]) == [f"{tmp_path.name}/mine", "after/mine"]
    assert len(report.make([folder, folder])[0]) == len(report.make([folder])[0])


def test_large_samples_are_left_out_and_named(folder, monkeypatch):
    shutil.copy(RESULTS / "cpu-intel-xeon" / "cpu.samples.csv.gz", folder)
    whole, missing = report.make([folder], samples=True)
    assert missing == []
    monkeypatch.setattr(report, "LARGEST_SAMPLES", 1000)
    less, missing = report.make([folder], samples=True)
    assert len(less) < len(whole) and len(missing) == 1 and "its samples are not in the page" in missing[0]


def test_without_the_library_it_says_what_to_install(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(report.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as ended:
        report.main([str(folder), "--out", str(tmp_path / "page.html")])
    message = ended.value.code
    assert "\n" not in message and "needs the Python package pyobsplot: pip install -r requirements.txt" in message


def test_the_page_of_the_h200_is_whole_and_small():
    text, missing = report.make([RESULTS / "nvidia-h200"])
    assert missing == [] and 3e6 < len(text) < 7e6


def test_the_script_keeps_its_types(tmp_path):
    """TypeScript reads the types in the script's comments."""
    if not shutil.which("tsc"):
        pytest.skip("no tsc here; Debian's package is node-typescript")
    module = tmp_path / "page.js"
    module.write_text(report.page_script() + "export {};\n")
    done = subprocess.run(["tsc", "--noEmit", "--allowJs", "--checkJs", "--target", "es2022", "--lib",
                           "es2022,dom,dom.iterable", "--module", "esnext", "--strict", "--noImplicitAny", "false",
                           module], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_links_lead_from_the_page_to_the_project():
    assert report.root_from(SOURCE / "out" / "report.html") == "../" and report.root_from(SOURCE / "x.html") == ""
    assert report.root_from(SOURCE.parent / "elsewhere" / "x.html") is None
    for variant, path in report.sources().items():
        assert (SOURCE / path).is_file(), variant
    assert report.sources()["levels/naive"] == "src/kernels/levels.cu"
