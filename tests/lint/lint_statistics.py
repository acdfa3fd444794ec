"""Python and JavaScript look up, draw and typeset: no statistic of samples or rows is computed there, but in the program,
which `reductio summarize --check` holds to the samples."""

import pathlib
import re

from source import files

NAMES = r"mean|median|average|quantiles?|percentile|nanmean|nanmedian|std|stdev|var|variance|deviation|rank|sem|cov|corr|mode"
FORBIDDEN = re.compile(rf"\.({NAMES})\(|\b(geometric_mean|fmean|trimmed\w*|polyfit|lstsq|curve_fit|hodges\w*|wilcoxon)\b"
                       r"|\bimport (statistics|scipy)|\bfrom (statistics|scipy)", re.I)
WHERE = ("paper", "src/report", "src/python", "tools")
ALLOWED = {  # by file what the line names, and why
    "paper/query.py": ("geometric_mean", "ceiling_with: a what-if, of times that nothing took"),
}


def violations(root: pathlib.Path) -> list[str]:
    problems = []
    for path in files(root, "*.py", "*.js", "facts.txt"):
        name = path.relative_to(root).as_posix()
        if not name.startswith(tuple(f"{folder}/" for folder in WHERE)):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = FORBIDDEN.search(line)
            if match and not (name in ALLOWED and ALLOWED[name][0] in line):
                problems.append(f"{name}:{number}: {match.group()}: look it up in a table, or add it to the `means` of "
                                "paper/contrasts.json")
    return problems


PLANTED = [
    {"src/report/page.py": "times = rows.groupby('n')['time_s'].median()\n"},
    {"src/report/data.js": "const centre = d3.median(means);\n"},
    {"src/report/data.js": "function trimmedMean(values) {}\n"},
    {"paper/figures/x.py": "y = np.percentile(values, 95)\n"},
    {"paper/text/x.py": "from statistics import fmean\n"},
    {"paper/query.py": "width = rows['width'].mean()\n"},
    {"paper/facts.txt": '    1e6 * rows("peers")["time_median_s"].mean()\n'},
    {"tools/summary.py": "ranks = table['time_s'].rank()\n"},
    {"src/python/reductio/_x.py": "import statistics\n"},
]
CLEAN = [
    {"paper/facts.txt": '    mean("to-host"), rows("peers")["time_median_s"].max()\n'},
    {"src/report/page.py": '"""Each context\'s mean, and time_median_s: what the program wrote."""\n'},
    {"tests/report/x.py": "statistics.median(views)\n"},
    {"src/measure/stats/statistics.cpp": "double median(std::span<const double>);\n"},
]
