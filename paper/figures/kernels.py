"""Pictures of kernels, which `reductio draw` made of their runs (docs/kernels): the tree without its heading and the map of
sectors, in PDF."""

import os
import re
import shutil
import subprocess
from pathlib import Path

DRAWN = Path(__file__).resolve().parents[2] / "docs" / "kernels"
WIDTH = 330  # points in print, of 468 drawn; letters are drawn larger by as much, so that they keep their 8 points
LETTERS = 8


def cropped(svg: str) -> str:
    rows = [float(y) for y in re.findall(r'<g class="row" transform="translate\(0,([\d.]+)\)">', svg)]
    wide = float(re.search(r'viewBox="0 0 ([\d.]+) ', svg)[1])
    top, tall = rows[0] - 2, rows[-1] - rows[0] + 16
    size = f'width="{WIDTH}pt" height="{tall * WIDTH / wide:g}pt" viewBox="0 {top:g} {wide:g} {tall:g}"'
    svg = re.sub(r'width="[\d.]+pt" height="[\d.]+pt" viewBox="[^"]*"', size, svg, count=1)
    return svg.replace(f'font-size="{LETTERS}"', f'font-size="{LETTERS * wide / WIDTH:g}"', 1)


def draw(name: str, out: Path) -> Path | None:
    """kernel-NAME.pdf; None without a program that converts SVG."""
    if not shutil.which("rsvg-convert"):
        return None
    path = out / f"kernel-{name}.pdf"
    subprocess.run(["rsvg-convert", "--format=pdf", f"--output={path}"], check=True, text=True,
                   input=cropped((DRAWN / f"{name}.svg").read_text(encoding="utf-8")),
                   env=os.environ | {"SOURCE_DATE_EPOCH": "0"})  # the same bytes each time
    return path
