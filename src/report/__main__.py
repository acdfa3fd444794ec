"""One of the two by its name: python src/report page DIR..., python src/report plot --folder DIR ..."""

import sys
from importlib import import_module
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])  # this folder is the package `report` wherever it lies

if __name__ == "__main__":
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name not in ("page", "plot"):
        sys.exit("reductio: name what to make, page or plot")
    sys.exit(import_module(f"report.{name}").main())
