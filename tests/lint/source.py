"""What the lints share: finding the project's files, and reading C++ without its comments and strings."""

import pathlib
import re

# Never the project's own text: what is built, installed or written by a run.
OUTSIDE = {".git", ".venv", ".ccache", "build", "out", "__pycache__", ".pytest_cache"}


def files(root: pathlib.Path, *patterns: str) -> list[pathlib.Path]:
    """The files under root whose name matches one of the patterns, sorted; nothing that was generated."""
    paths = set()
    for pattern in patterns:
        for path in root.rglob(pattern):
            parts = path.relative_to(root).parts
            if path.is_file() and not OUTSIDE & set(parts) and not any(p.startswith("build-") for p in parts):
                paths.add(path)
    return sorted(paths)


CPP = ("*.h", "*.cuh", "*.cpp", "*.cu")

_COMMENT_OR_STRING = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'""",
    re.VERBOSE | re.DOTALL)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def code(text: str) -> str:
    """C++ with comments and the contents of strings blanked; every line keeps its number."""
    def keep_shape(match: re.Match) -> str:
        token = match.group()
        # 1'000'000 is a number, not a string: a quote between digits opens nothing.
        if token[0] == "'" and match.start() and text[match.start() - 1].isalnum():
            return token
        return _blank(token)
    return _COMMENT_OR_STRING.sub(keep_shape, text)


def without_comments(text: str) -> str:
    """C++ with comments blanked and strings kept."""
    return _COMMENT_OR_STRING.sub(lambda m: _blank(m.group()) if m.group().startswith("/") else m.group(), text)


def opening_comment(text: str) -> str:
    """The comment lines before the first line that is none."""
    lines = []
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("//"):
            break
        lines.append(line)
    return "\n".join(lines)


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
