"""Numbers and names as LaTeX."""

import math
import re
from functools import partial

from report.style import power_label

MISSING = "---"
_ESCAPES = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
            "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
            ">": r"\textgreater{}", "|": r"\textbar{}", "×": r"$\times$", "²": r"$^2$", "…": r"\ldots{}", "–": "--",
            "—": "---", "→": r"$\rightarrow$", "≤": r"$\le$", "≥": r"$\ge$", "µ": r"\textmu{}"}


def row(*fields: str) -> str:
    return " & ".join(fields) + r" \\"


def escape(text: str) -> str:
    """Text as LaTeX shows it; characters that its fonts lack become "?". Two hyphens stay two, as in "--full"."""
    shown = "".join(_ESCAPES.get(c, c if ord(c) < 128 else "?") for c in text.replace("--", "-\0-"))
    return shown.replace("\0", "{}")


def numbers(escaped: str) -> str:
    """Escaped text with its powers of two and of ten raised, as 2^28 and 8.06e+05, and percent signs kept at their
    numbers."""
    tens = re.sub(r"\b(\d(?:\.\d+)?)e([+-]\d+)\b", lambda m: rf"${m[1]}\cdot10^{{{int(m[2])}}}$", escaped)
    twos = re.sub(r"2\\textasciicircum\{\}(\w+)", r"$2^{\1}$", tens)
    return re.sub(r"(?<=\d) \\%", r"\\,\\%", twos)


def code(text: str) -> str:
    """An identifier in typewriter, breakable after "/" and "-"."""
    return r"\texttt{" + escape(text).replace("/", r"/\allowbreak{}").replace("-", r"-\allowbreak{}") + "}"


def digits(value: float, significant: int = 3) -> str:
    """Three significant digits, no exponent, trailing zeros kept: 0.987, 12.3, 1230."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "?"
    rounded = float(f"{value:.{significant - 1}e}")  # which may carry into a new digit: 9.996 is 10.0
    return f"{value:.{max(0, significant - 1 - math.floor(math.log10(abs(rounded))))}f}"


def _scaled(value: float, units: list[tuple[float, str]]) -> str:
    # The unit is chosen for the number as it is shown: 999.7 us is 1.00 ms.
    shown = [digits(value / scale) for scale, _ in units]
    k = next((k for k, number in enumerate(shown) if float(number) >= 1), -1)
    return shown[k] + r"\," + units[k][1]


def interval(value: float, low: float, high: float) -> str:
    """"0.574 [0.573, 0.575]": three digits of the lower end, four where its ends would look alike, and as many decimals
    of the others; without an interval, which then is NaN, "0.574"."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return digits(value)
    decimals = len(digits(low).partition(".")[2])
    if f"{low:.{decimals}f}" == f"{high:.{decimals}f}":
        decimals += 1
    return f"{value:.{decimals}f} [{low:.{decimals}f}, {high:.{decimals}f}]"


time = partial(_scaled, units=[(1, "s"), (1e-3, "ms"), (1e-6, r"\textmu{}s"), (1e-9, "ns")])
bandwidth = partial(_scaled, units=[(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s")])


def microseconds(seconds: float) -> str:
    """For columns whose head names the unit."""
    return digits(seconds * 1e6)


def percent(share: float) -> str:
    return digits(100 * share, 2 if share < 0.995 else 3) + r"\,\%"


def binary(size: float) -> str:
    return f"{size / 2**30:.0f}" + r"\,GiB" if size >= 2**30 else f"{size / 2**20:.0f}" + r"\,MiB"


def power(n: float) -> str:
    return power_label(n).replace(",", r"\,")


def count(number: int) -> str:
    return f"{number:,}".replace(",", "{,}")
