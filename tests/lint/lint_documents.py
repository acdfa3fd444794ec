"""What README, CONTRIBUTING and the other texts tell the reader to type or to look at exists."""

import json
import pathlib
import re

from lint_variants import ID, registered
from source import CPP, files, without_comments

GENERATED = ("build/", "out/", ".venv/")  # there once something was run
# results/<machine>/EXPERIMENT.csv; and whatever is called mine is for the reader to make.
PLACEHOLDER = re.compile(r"[<>*{}$]|\b[A-Z]{2,}\b|\.\.\.|\bmine[/_.]")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def spans(text: str) -> list[tuple[int, str]]:
    """(line, text) of everything set as code: `spans`, and the lines of fenced blocks."""
    code = []
    for match in FENCE.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        code += [(first + i, line) for i, line in enumerate(match.group().splitlines()) if not line.startswith("```")]
    prose = FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    code += [(prose.count("\n", 0, m.start()) + 1, m.group(1)) for m in re.finditer(r"`([^`\n]+)`", prose)]
    return code


def links(text: str) -> list[tuple[int, str]]:
    prose = FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    return [(prose.count("\n", 0, m.start()) + 1, m.group(1).split("#")[0])
            for m in re.finditer(r"\]\(([^)\s]+)\)", prose) if not re.match(r"https?:|mailto:|#", m.group(1))]


def options_of(root: pathlib.Path, command: str) -> str | None:
    """The text in which a command's options must be found; None if the command is unknown."""
    if command == "reductio":
        sources = files(root / "src" / "cli", "*.cpp", "*.h")
        return "\n".join(without_comments(p.read_text()) for p in sources) or None
    path = root / command
    return path.read_text(errors="replace") if path.is_file() else None  # a PDF that was typeset is no script


def violations(root: pathlib.Path) -> list[str]:
    problems = []
    variants = {v for p in files(root, *CPP) for v in registered(p.read_text())}
    variants |= {v for p in files(root / "baselines" / "python", "*.py")
                 for v in re.findall(rf'@reductio\.variant\("({ID})"', p.read_text())}
    groups = {v.split("/")[0] for v in variants}
    presets_file = root / "CMakePresets.json"
    presets = {p["name"] for p in json.loads(presets_file.read_text())["configurePresets"]} if presets_file.exists() else set()

    for document in files(root, "*.md"):
        text, where = document.read_text(), document.relative_to(root)

        def exists(path: str) -> bool:
            bare = path.removeprefix("./").rstrip("/")
            return (root / bare).exists() or (document.parent / bare).exists()

        for line, target in links(text):
            if not exists(target):
                problems.append(f"{where}:{line}: links to {target}, which does not exist")
        for line, span in spans(text):
            at = f"{where}:{line}"
            for preset in re.findall(r"--preset[ =]([\w-]+)", span):
                if preset not in presets:
                    problems.append(f"{at}: there is no preset {preset}")
            if match := re.match(r"(?:\$ )?(?:[A-Z_]+=\S+ )*(?:bash |python3? )?((?:\./|build/bin/)?[\w./-]+)((?: .*)?)$", span):
                command, rest = match.group(1), match.group(2)
                name = "reductio" if command in ("reductio", "build/bin/reductio") else command.removeprefix("./")
                known = options_of(root, name) if name == "reductio" or exists(name) and (root / name).is_file() else None
                if name == "reductio" and known is not None:
                    words = rest.split()
                    if words and re.fullmatch(r"[a-z]+", words[0]) and f'add_subcommand("{words[0]}"' not in known:
                        problems.append(f"{at}: reductio has no subcommand {words[0]}")
                for option in re.findall(r"(?<=\s)(--[a-z][\w-]*)", rest.split(" -- ")[0].split("#")[0]):
                    if known is not None and not re.search(re.escape(option) + r"(?![\w-])", known) and option not in (
                            "--help", "--version"):
                        problems.append(f"{at}: {name} has no option {option}")
            for word in re.split(r"[\s,;:()=\"']+", span):
                word = word.rstrip(".")
                if re.fullmatch(ID, word) and word.split("/")[0] in groups and not (root / word).exists():
                    if word not in variants and not PLACEHOLDER.search(word):
                        problems.append(f"{at}: there is no variant {word}")
                elif re.fullmatch(r"\.?/?[\w.-]+(/[\w.-]+)+/?|\./[\w-]+", word) and not PLACEHOLDER.search(word):
                    first = word.removeprefix("./").split("/")[0]
                    if (root / first).exists() or word.startswith("./"):
                        if not exists(word) and not word.removeprefix("./").startswith(GENERATED):
                            problems.append(f"{at}: names {word}, which does not exist")
    return problems


TREE = {"check": "# --quick\n", "src/core/a.h": "", "CMakePresets.json": '{"configurePresets": [{"name": "release"}]}',
        "src/cli/run.cpp": 'app.add_subcommand("run", "");\nsub->add_option("--sizes,-s", x);\n',
        "baselines/python/peer.py": '@reductio.variant("peer/sum", types=["f32"])\n',
        "src/kernels/levels.cu": '/// Variants: levels/naive\nr("levels/naive");\n'}
PLANTED = [{**TREE, "README.md": text} for text in (
    "see [it](docs/none.md)\n",
    "see `src/core/none.h`\n",
    "type `./none`\n",
    "type `./check --slow`\n",
    "```\n./check --quick --none\n```\n",
    "type `cmake --preset none`\n",
    "type `reductio dance`\n",
    "type `build/bin/reductio run comparison --colour`\n",
    "the kernel `levels/nave`\n",
    "the peer `peer/none`\n",
    "```\nreductio run x --variants levels/none\n```\n",
)]
CLEAN = [{**TREE, "README.md": text} for text in (
    "see [core](src/core/a.h), [web](https://example.org/x), `src/core/`, `build/bin/none`, `results/<machine>/x.csv`\n",
    "`./check --quick`, `cmake --preset release`, `levels/naive`, `peer/sum`, `reductio run comparison --sizes 2^10`, `and/or`\n",
    "`src/kernels/mine_x.cu` holds `mine/x`\n",
    "```\n$ build/bin/reductio run x --sizes 2^10:2^20 --help\n```\n",
)] + [{**TREE, "README.md": "`out/paper.pdf` is typeset\n", "out/paper.pdf": b"%PDF-1.5\n%\xd0\xd4\n"}]
