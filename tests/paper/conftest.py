"""Synthetic results folders, and what the paper makes of them, once for all tests."""

from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from project import SOURCE
from synthetic import (MACHINE, cpu_rows, gpu_rows, limits_rows, model_rows, timing_rows, write_checks,
                       write_folder)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def full_folder(tmp_path_factory) -> Path:
    """GPU and CPU results of every variant at few sizes, and all that stands beside them."""
    rows = gpu_rows(types=("f32", "i32"), sizes=[2**20, 2**24, 2**28])
    folder = write_folder(tmp_path_factory.mktemp("results") / "synthetic", rows, cpu=cpu_rows(types=("f32",)),
                          limits=limits_rows(), models=model_rows(), timing=timing_rows())
    write_checks(folder)
    return folder


@pytest.fixture(scope="session")
def cpu_only_folder(tmp_path_factory) -> Path:
    """What a machine without a GPU leaves: cpu.csv alone, and no GPU in machine.json."""
    return write_folder(tmp_path_factory.mktemp("results") / "synthetic-cpu", cpu=cpu_rows(types=("f32",)),
                        machine={**MACHINE, "gpu": None, "device": "cpu"})


def make_paper(results: Path, out: Path, cpu: Path | None = None) -> dict:
    """All figures, tables and numbers of a folder, for LaTeX, and the figures by name. These stand there as blank pages of
    their size: to write them takes most of the time, and other tests look at what they show."""
    import make
    from report import style

    save, drawn = style.save, {}

    def blank(figure, out: Path, name: str) -> list[Path]:
        drawn[name] = figure
        plt.close(figure)  # so that pyplot lets go of it
        return save(plt.figure(figsize=figure.get_size_inches()), out, name, (".pdf",))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "save", blank)
        make.make(results, out, cpu)
    return drawn


@pytest.fixture(scope="session")
def generated_cpu_only(cpu_only_folder, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("paper-cpu") / "generated"
    make_paper(cpu_only_folder, out)
    return out


@pytest.fixture(scope="session")
def committed(tmp_path_factory) -> tuple[Path, dict]:
    """The paper of the committed results, and its figures."""
    results = SOURCE / "experiments" / "results"
    out = tmp_path_factory.mktemp("committed") / "generated"
    return out, make_paper(results / "nvidia-h200", out, results / "cpu-intel-xeon")
