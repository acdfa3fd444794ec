"""The ids of what the documents claim, by document. The paper's table of claims says what each means."""


def _numbered(letter: str, first: int, last: int) -> list[str]:
    return [f"{letter}{i}" for i in range(first, last + 1)]


CLAIMS = {"squares": _numbered("S", 1, 6), "twopass": _numbered("T", 1, 7), "unroll": _numbered("U", 0, 10),
          "levels": _numbered("L", 1, 9), "multiblock": _numbered("M", 1, 3)}
