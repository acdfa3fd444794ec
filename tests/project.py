"""Where the project that is tested lies."""

import os
from pathlib import Path

SOURCE = Path(os.environ.get("REDUCTIO_SOURCE_DIR", Path(__file__).resolve().parents[1]))
