"""Synthetic results folders, and what the paper makes of them, once for all tests."""

from pathlib import Path

import pytest
from project import SOURCE
from synthetic import (MACHINE, cpu_rows, gpu_rows, limits_rows, model_rows, timing_rows, write_checks,
                       write_folder)


@pytest.fixture(scope="session")
def full_folder(tmp_path_factory) -> Path:
    """GPU and CPU results of every variant, and all that stands beside them: f32 at all sizes, i32 at those that the
    documents' steps ask for."""
    rows = gpu_rows(types=("f32",)) + gpu_rows(types=("i32",), sizes=[2**20, 2**24, 2**27, 2**28])
    folder = write_folder(tmp_path_factory.mktemp("results") / "synthetic", rows, cpu_rows(types=("f32",)),
                          limits=limits_rows(), models=model_rows(), timing=timing_rows())
    write_checks(folder)
    return folder


@pytest.fixture(scope="session")
def cpu_only_folder(tmp_path_factory) -> Path:
    """What a machine without a GPU leaves: cpu.csv alone, and no GPU in machine.json."""
    return write_folder(tmp_path_factory.mktemp("results") / "synthetic-cpu", cpu=cpu_rows(types=("f32",)),
                        machine={**MACHINE, "gpu": None, "device": "cpu"})


def make_paper(results: Path, out: Path, cpu: Path | None = None) -> Path:
    """All figures, tables and numbers of a folder, for LaTeX. Figures are drawn and stand there as blank pages of their size:
    to write them takes most of the time, and other tests look at what they show."""
    import make
    import matplotlib.pyplot as plt
    from figures import style

    save = style.save

    def blank(figure, out: Path, name: str, _kinds) -> list[Path]:
        page = plt.figure(figsize=figure.get_size_inches())
        plt.close(figure)
        return save(page, out, name, (".pdf",))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(make, "TYPES", ("f32",))
        patch.setattr(style, "save", blank)
        make.make(results, out, cpu)
    return out


@pytest.fixture(scope="session")
def generated(full_folder, tmp_path_factory) -> Path:
    return make_paper(full_folder, tmp_path_factory.mktemp("paper") / "generated")


@pytest.fixture(scope="session")
def generated_cpu_only(cpu_only_folder, tmp_path_factory) -> Path:
    return make_paper(cpu_only_folder, tmp_path_factory.mktemp("paper-cpu") / "generated")


@pytest.fixture(scope="session")
def committed(tmp_path_factory) -> Path:
    """The paper of the committed results."""
    results = SOURCE / "experiments" / "results"
    out = tmp_path_factory.mktemp("committed") / "generated"
    return make_paper(results / "nvidia-h200", out, results / "cpu-intel-xeon")
