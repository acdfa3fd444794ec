"""tools/measured.py: what a results folder holds, and what was too large for the memory."""

import measured
import synthetic


def row(n: int, **more) -> dict:
    return synthetic.timed(1e-3, experiment="limits", variant="cub/sum", n=n, **more)


def refused(n: int, reason: str) -> dict:
    return synthetic.row(experiment="limits", variant="cub/sum", n=n, status="refused", reason=reason)


def test_each_experiment_is_counted_and_other_files_are_none(tmp_path):
    folder = synthetic.write_folder(tmp_path / "m", limits=[row(2**20), row(2**21), refused(2**10, "cold graph")],
                                    models=synthetic.model_rows())
    assert measured.lines(folder) == ["  limits: 2 of 3 points measured, 1 refused"]
    assert measured.lines(synthetic.write_folder(tmp_path / "none")) == [f"  {tmp_path / 'none'} holds no experiment"]


def test_what_is_too_large_for_the_memory_is_told_with_sizes_and_reason(tmp_path):
    why = "needs 8.0 GiB of GPU memory, 7.1 GiB free"
    lacking = [refused(n, why) | {"status": "no_memory"} for n in (2**30, 2**29)]
    folder = synthetic.write_folder(tmp_path / "m", limits=[row(2**28), *lacking, refused(2**5, "cold graph")])
    assert measured.lines(folder)[1:] == [
        f"    too large for the memory here: 2 points of {2**29:,} elements and more, the largest measured has {2**28:,} "
        f"({why})"]


def test_bad_input_is_one_line(tmp_path, capsys):
    folder = synthetic.write_folder(tmp_path / "m", limits=[row(2**20)])
    text = (folder / "limits.csv").read_text()
    assert measured.main([str(tmp_path / "nowhere")]) == 1
    error = capsys.readouterr().err
    assert "is not a folder" in error and error.count("\n") == 1
    (folder / "limits.csv").write_text(text.replace("bandwidth_bytes_per_s", "bandwidth"))
    assert measured.main([str(folder)]) == 1
    assert "lacks the column bandwidth_bytes_per_s" in capsys.readouterr().err
