"""The paper's text types no measured number that no fact holds, its queries have answers, and it builds without a
complaint."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from project import SOURCE

import claims
import make
from facts import facts
from report import results as rs
from text import numbers

PAPER = SOURCE / "paper"

# What makes a number a measurement: a unit of time, rate or size, a percentage, or a factor.
_UNIT = (r"(?:[GMTkK]i?B(?:/s)?|[GM]Hz|(?:\\textmu(?:\{\})?|\\mu|[munµμ])?s|ms|seconds?|microseconds?|milliseconds?|"
         r"[GMT]?FLOP/?s|cycles?|\\%|percent|per\s+cent|\\times|x|times|-?fold)")
_GLUE = r"(?:\\,|\\;|\\ |~|\s|\$|\{\}|\\text\{|\\mathrm\{|-)*"
_MEASUREMENT = re.compile(r"\d[\d.,]*" + _GLUE + _UNIT + r"(?![A-Za-z])")


def without(tex: str, macro: str) -> str:
    r"""The text with every \macro{...} and \macro[...]{...} taken out, braces inside respected."""
    out, at = "", 0
    for start in (m.start() for m in re.finditer(r"\\" + macro + r"(?:\[[^]]*\])?\{", tex)):
        if start < at:
            continue
        depth, end = 0, tex.index("{", start)
        while True:
            depth += {"{": 1, "}": -1}.get(tex[end], 0) if tex[end - 1] != "\\" else 0
            end += 1
            if depth == 0:
                break
        out, at = out + tex[at:start], end
    return out + tex[at:]


def typed_measurements(tex: str) -> list[str]:
    """Measured numbers typed into the body of a LaTeX text, and in no sentence that a fact holds to the data."""
    body = re.sub(r"(?<!\\)%.*", "", tex.split(r"\begin{document}", 1)[-1])
    body = " ".join(without(without(body, "documentfigure"), "ask").split())
    for fact in facts():
        body = body.replace(fact.sentence, "")
    return [m.group() for m in _MEASUREMENT.finditer(body)]


# ----------------------------------------------------------------------------------------------- the text


def test_the_paper_types_no_measured_number():
    assert typed_measurements((PAPER / "main.tex").read_text()) == []


@pytest.mark.parametrize("planted", [
    "reads 4283 GB/s", r"4.28\,TB/s", "in 250 us", r"in 3.7~\textmu{}s", r"$250\,\mathrm{ms}$", "0.25 s later",
    r"89\,\% of the peak", "89 percent", "is 3 times faster", r"$1.24\times$", "3x faster", "2.6 cycles",
    "a 10-fold gain", "60 MiB", r"\documentfigure{3 ms} and 4 ms"])
def test_the_lint_finds_a_typed_measurement(planted):
    text = (PAPER / "main.tex").read_text()
    assert len(typed_measurements(text.replace("How fast can", planted, 1))) == 1


@pytest.mark.parametrize("harmless", [
    "from 2^{10} to 2^{30} elements", r"blocks of 256 threads", r"\documentfigure{10.4 to 1.001\,ms}", "% 5 GB/s",
    r"\documentfigure{25\,\%, {98\,\%}}", r'\ask[us]{mean("l1.cycles")}', "in 1995 several", "Section 2 shows"])
def test_the_lint_lets_pass_what_is_no_measurement(harmless):
    assert typed_measurements(harmless) == []


def test_each_number_of_the_text_is_in_the_committed_results(committed):
    lines = (committed[0] / "tables" / "numbers.tex").read_text().splitlines()
    assert [l for l in lines if numbers.ABSENT in l] == []
    assert len(lines) > 100 and r"\newcommand{\resultsnote}{}" in lines


def test_a_folder_without_a_gpu_has_none_of_them(generated_cpu_only):
    text = (generated_cpu_only / "tables" / "numbers.tex").read_text()
    assert text.count(numbers.ABSENT) > 100 and "The sentences describe the committed results" in text


def test_the_paper_reads_only_generated():
    tex = (PAPER / "main.tex").read_text()
    inputs = re.findall(r"\\(?:input|include|includegraphics)(?:\[[^]]*\])?\{([^}]*)\}", tex)
    assert inputs and all(i.startswith("generated/") for i in inputs), inputs


# Debian's package of each LaTeX package that the paper may use.
DEBIAN = {"texlive-latex-base": "array fontenc geometry graphicx hyperref inputenc longtable mathptmx textcomp url".split(),
          "texlive-latex-recommended": "booktabs caption microtype".split()}


def used_packages(tex: str) -> list[str]:
    body = re.sub(r"(?<!\\)%.*", "", tex)
    return [name.strip() for names in re.findall(r"\\(?:usepackage|RequirePackage)(?:\[[^]]*\])?\{([^}]*)\}", body)
            for name in names.split(",")]


def packages_that_reproduce_installs() -> set[str]:
    steps = (SOURCE / "tools" / "steps.sh").read_text()
    return set(re.findall(r'^\s*"([\w-]+): ', re.search(r"^paper_packages=\((.*?)^\)", steps, re.M | re.S)[1], re.M))


def test_reproduce_installs_every_latex_package_that_the_paper_uses():
    used = used_packages((PAPER / "main.tex").read_text())
    package_of = {style: package for package, styles in DEBIAN.items() for style in styles}
    assert len(used) > 5 and "caption" in used
    assert set(used) <= set(package_of), f"say in DEBIAN which package has {', '.join(sorted(set(used) - set(package_of)))}"
    assert {package_of[style] for style in used} <= packages_that_reproduce_installs()


CLAIMS = {document: [c["id"] for c in claims.LISTED["claims"] if c["document"] == document] for document in rs.DOCUMENTS}
ALL_CLAIMS = [claim for ids in CLAIMS.values() for claim in ids]


def claims_of_head(text: str) -> list[str]:
    """Those of a kernel file's opening `Its claims (A1 to A9): ...`."""
    said = re.search(r"^/// Its claims \(([A-Z])(\d+) to \1(\d+)\):", text, re.M)
    return [f"{said[1]}{i}" for i in range(int(said[2]), int(said[3]) + 1)] if said else []


def test_the_table_of_claims_has_each_of_them_once_and_in_order(generated_cpu_only):
    table = (generated_cpu_only / "tables" / "table-claims.tex").read_text()
    assert re.findall(r"^([A-Z]\d+) &", table, re.M) == ALL_CLAIMS
    assert len(set(ALL_CLAIMS)) == len(ALL_CLAIMS) == 36


@pytest.mark.parametrize("document", CLAIMS)
def test_each_kernel_file_opens_with_the_claims_of_its_document(document):
    head = (SOURCE / "src" / "kernels" / f"{document}.cu").read_text()
    assert claims_of_head(head) == CLAIMS[document]
    assert claims_of_head(head.replace("Its claims (", "Its claims: (")) == []


def test_the_text_names_claims_that_there_are():
    text = (PAPER / "main.tex").read_text()
    named = [n for inside in re.findall(r"\(((?:[A-Z]\d+(?:, | and )?)+)\)", text)
             for n in re.findall(r"[A-Z]\d+", inside)]
    assert "T7" in named and set(named) <= set(ALL_CLAIMS), named


def test_every_citation_has_an_entry_and_every_entry_a_citation():
    tex, bib = (PAPER / "main.tex").read_text(), (PAPER / "refs.bib").read_text()
    cited = {key.strip() for keys in re.findall(r"\\cite\{([^}]*)\}", tex) for key in keys.split(",")}
    assert cited == set(re.findall(r"^@\w+\{([^,]+),", bib, re.M))


def test_reproduce_draws_anew_when_anything_changes_that_the_paper_is_made_of(full_folder, cpu_only_folder, tmp_path):
    """What is opened below the results while text and tables are made, is in the key by which draw() in ./reproduce
    knows what it has done."""
    results, cpu = shutil.copytree(full_folder.parent, tmp_path / "results") / full_folder.name, tmp_path / "cpu"
    shutil.copytree(cpu_only_folder, cpu)
    releases = "nvidia-h100-releases"
    shutil.copytree(SOURCE / "experiments" / "results" / releases, results.parent / releases)
    script = f"""
import pathlib, sys
sys.path[:0] = {str(PAPER)!r}, {str(SOURCE / 'src')!r}
opened = set()
sys.addaudithook(lambda event, args: opened.add(str(args[0])) if event == "open" else None)
import make
from facts import facts
from report import results as rs
from text import numbers, tables
folders = pathlib.Path({str(results)!r}), pathlib.Path({str(cpu)!r})
results = make.read_results(*folders)
tables.write(results, pathlib.Path({str(tmp_path)!r}))
numbers.write(results, pathlib.Path({str(tmp_path)!r}))
below = {str(results.parent)!r}, {str(cpu)!r}, {str(PAPER)!r}
print(*(p for p in opened if p.startswith(below) and not p.endswith((".py", ".pyc"))), sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    opened = {str(Path(p).resolve()) for p in done.stdout.split()}
    assert {str(cpu / "cpu.csv"), str(results.parent / "other" / "comparison.csv"), str(results / "machine.json"),
            str(results.parent / releases / "releases.csv.gz"),
            str(PAPER / "main.tex"), str(PAPER / "contrasts.json")} <= opened
    key = re.search(r'key="\$from \$\(hash_of (.*?)\)"', (SOURCE / "reproduce").read_text(), re.S)[1]
    done = subprocess.run(["bash", "-c", f"from=$1 cpu=$2; realpath -q -- {key}", "bash", results, cpu], cwd=SOURCE,
                          capture_output=True, text=True)
    assert opened <= set(done.stdout.split()), opened - set(done.stdout.split())


# ------------------------------------------------------------------------------------------------ the PDF


PAGES = 10  # of text and figures, in two columns; the bibliography and the appendix come after


def typeset(generated: Path, into: Path) -> str:
    """The log of the paper, built of a folder of figures and tables."""
    for name in ("main.tex", "refs.bib", "latexmkrc"):
        shutil.copy(PAPER / name, into)
    shutil.copytree(generated, into / "generated")
    done = subprocess.run(["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "main.tex"], cwd=into,
                          capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert (into / "main.pdf").read_bytes().startswith(b"%PDF")
    return (into / "main.log").read_text(errors="replace")


def complaints(log: str) -> list[str]:
    """What LaTeX warns of and a reader would see: references that nothing defines, labels and characters, and lines
    that stick out by more than 3 points."""
    log = re.sub(r"(?<=.{79})\n", "", log)  # LaTeX breaks its lines there
    wide = [m[0] for m in re.finditer(r"Overfull \\[hv]box \(([\d.]+)pt too \w+\).*", log) if float(m[1]) >= 3]
    return wide + re.findall(r"(?:Citation|Reference) .* undefined|Label .* multiply defined|Missing character.*"
                             r"|Float too large for page.*", log)


@pytest.mark.parametrize("log", [
    "LaTeX Warning: Reference `fig:none' on page 3 undefined on input line 5.",
    "LaTeX Warning: Citation `none' on page 3 undefined", "LaTeX Warning: Label `tab:a' multiply defined.",
    "Overfull \\hbox (12.3pt too wide) in paragraph at lines 6--39", "Overfull \\vbox (4.0pt too high) has occurred",
    "Missing character: There is no x in font", "LaTeX Warning: Float too large for page by 14.2pt on input line 48."])
def test_complaints_are_found(log):
    assert len(complaints(f"This is pdfTeX\nOverfull \\hbox (1.9pt too wide) in paragraph\n{log}\n")) == 1


@pytest.mark.skipif(shutil.which("latexmk") is None, reason="latexmk is not installed")
def test_it_builds_of_a_folder_without_a_gpu(generated_cpu_only, tmp_path):
    assert complaints(typeset(generated_cpu_only, tmp_path)) == []


def test_the_committed_results_have_all_figures_of_the_text(committed):
    out, named = committed[0], make.in_paper("figure")
    if shutil.which("rsvg-convert"):
        named += [f"kernel-{name}" for name in make.in_paper("picture")]
    assert len(named) > 10
    assert [name for name in named if not (out / "figures" / f"{name}.pdf").exists()] == []
    index = (out / "index.md").read_text()
    assert [p.name for p in (out / "figures").iterdir() if f"`figures/{p.stem}`" not in index] == []
    assert "experiments/results/nvidia-h200" in index


@pytest.mark.skipif(shutil.which("latexmk") is None, reason="latexmk is not installed")
def test_the_paper_of_the_committed_results(committed, tmp_path):
    assert complaints(typeset(committed[0], tmp_path)) == []
    after_text = re.search(r"\\newlabel\{after:text\}\{\{[^}]*\}\{(\d+)\}", (tmp_path / "main.aux").read_text())
    assert int(after_text[1]) - 1 <= PAGES
    tex = (PAPER / "main.tex").read_text()
    assert tex.index(r"\label{after:text}") < tex.index(r"\bibliography{") < tex.index(r"\appendix")


