"""Wrong requests: one line that says what is wrong and what to do, the right exit code, nothing changed."""

import json

import pytest

from conftest import snapshot

CPU_RUN = ["run", "cpu", "--variants", "^host/plain$", "--sizes", "1000", "--types", "i32"]


# $1 the command line, $2 what the line must say
WRONG = [
    ([], ["subcommand", "list", "verify", "run"]),
    (["lst"], ["'lst'", "'list'"]),
    (["verfy"], ["'verfy'", "'verify'"]),
    (["frobnicate"], ["'frobnicate'", "--help"]),
    (["--verbose", "list"], ["'--verbose'"]),
    (["list", "--jsn"], ["'--jsn'", "'--json'"]),
    (["list", "more", "less"], ["'less'"]),
    (["list", "things"], ["'things'", "variants", "experiments"]),
    (["list", "--csv", "--json"], ["--csv", "--json"]),
    (["run", "cpu", "--size", "1000"], ["'--size'", "'--sizes'"]),
    (["run", "cpu", "--sizes=1", "--typs=i32"], ["'--typs'", "'--types'"]),
    (["run", "cpu", "-x"], ["'-x'"]),
    (["run", "cpu", "--sizes"], ["--sizes"]),
    (["run"], ["experiment", "comparison", "cpu"]),
    (["run", "comparision"], ["'comparision'", "'comparison'"]),
    (["run", "cpu", "comparision"], ["'comparision'", "'comparison'"]),
    ([*CPU_RUN, "cpu"], ["'cpu'", "twice", "name it once"]),
    (["run", "cpu", "--device", "sim"], ["experiment 'cpu'", "not for device sim", "leave --device out"]),
    (["run", "comparison", "cpu", "--device", "cuda", "--dry-run"], ["'cpu'", "not for device cuda"]),
    (["run", "cpu", "--dry-run", "--profile"], ["--dry-run", "--profile"]),
    (["run", "cpu", "--quick", "--full"], ["--quick", "--full"]),
    (["run", "cpu", "--variants", "host/plane"], ["'host/plane'", "'host/plain'"]),
    (["verify", "--variants", "twopas/rolled"], ["'twopas/rolled'", "'twopass/rolled'"]),
    (["info", "levels/naive", "--gpu", "0"], ["a variant or a device, not both", "--gpu"]),
    (["info", "levels/niave"], ["'levels/niave'", "'levels/naive'"]),
    (["list", "--variants", "zzzzzzzzzzzz"], ["'zzzzzzzzzzzz'", "list"]),
    (["list", "--variants", "("], ["'('", "expression"]),
    (["list", "--variants", "["], ["'['", "expression"]),
    *((command + ["--variants", "(" * 20_000 + ")" * 20_000], ["40000 characters", "at most 1000"])
      for command in (["list"], ["verify"], ["run", "cpu"], ["run", "limits", "--device", "sim"])),
    (["list", "--variants", "(){90000}"], ["'(){90000}'", "repeats too often"]),
    ([*CPU_RUN, "--sizes", "2^2x"], ["'2^2x'", "2^20"]),
    (["run", "cpu", "--sizes", "12k"], ["'12k'"]),
    (["run", "cpu", "--sizes", "1,,2"], ["''"]),
    (["run", "cpu", "--sizes", "2^61"], ["too large", "2^60"]),
    (["run", "cpu", "--sizes", "1.5"], ["'1.5'"]),
    (["run", "cpu", "--sizes", "2^20:2^10"], ["empty range"]),
    (["run", "cpu", "--sizes", "0:9:0"], ["never ends"]),
    (["run", "cpu", "--sizes", ""], ["--sizes", "empty"]),
    (["run", "shapes", "--device", "cpu", "--shapes", "2^40x2^40"], ["'2^40x2^40'", "more than 2^60", "fewer rows"]),
    (["compare", "host/rows", "eigen/rowwise", "--shapes", "10x100/50"], ["'10x100/50'", "the pitch, 50"]),
    (["verify", "--shapes", "12"], ["malformed shape '12'", "2^16x2^10", "1000x*"]),
    (["verify", "--shapes", "1000x*"], ["do not fix the number of elements", "--sizes"]),
    (["verify", "--segments", "giant"], ["'giant'", "uniform:32", "one-giant"]),
    (["verify", "--segments", "uniform:1", "--sizes", "2^32", "--variants", "^host/segments$"], ["more than 2^28"]),
    (["verify", "--variants", "^host/plain$", "--shapes", "3x4"], ["no selected variant takes these shapes", "row_sums"]),
    (["verify", "--operations", "sum", "--shapes", "3x4"], ["operation sum", "--shapes is for row_sums"]),
    (["verify", "--variants", "^host/rows$", "--quiet", "--shapes", "2^25x2^25"], ["of memory", "free"]),
    (["compare", "host/rows", "eigen/rowwise", "--segments", "uniform:3"], ["share no operation", "segment_sums"]),
    (["run", "cpu", "--types", ""], ["--types", "empty"]),
    (["verify", "--variants", ""], ["--variants", "empty"]),
    (["verify", "--sizes", "100", "--offset", "-1"], ["malformed --offset '-1'", "from 0 to 2^60"]),
    (["verify", "--sizes", "100", "--offset", "1x"], ["malformed --offset '1x'"]),
    (["verify", "--sizes", "100", "--offset", str(2**62)], [f"malformed --offset '{2**62}'"]),
    (["verify", "--sizes", "100", "--offset", str(2**60)], [f"--offset {2**60} and 100 elements"]),
    *(([command], ["name a results folder", "none in out/results", "reductio run"])
      for command in ("models", "claims", "summarize")),
    (["new"], ["mine/first-idea", "reductio new --help"]),
    (["run", "cpu", "--types=", "--sizes", "1000"], ["--types is empty"]),
    (["run", "cpu", "--types="], ["--types is empty"]),
    (["run", ""], ["experiment", "empty"]),
    (["run", "cpu", "--types", "f8"], ["'f8'", "i8, i32, i64, i128, f16, bf16, f32, f64"]),
    (["run", "cpu", "--types", "i32,,f32"], ["''", "i8, i32, i64, i128, f16, bf16, f32, f64"]),
    (["run", "cpu", "--operations", "product"], ["'product'", "sum, sum_of_squares"]),
    (["run", "cpu", "--device", "gpu"], ["'gpu'", "cuda, sim, cpu"]),
    (["run", "cpu", "--device", "cpu", "--gpu", "0"], ["--gpu", "--device"]),
    ([*CPU_RUN, "--gpu", "3"], ["--gpu", "experiment 'cpu'", "leave --gpu out"]),
    ([*CPU_RUN, "--gpu", "3", "--dry-run"], ["--gpu", "experiment 'cpu'"]),
    (["verify", "--variants", "^host/", "--gpu", "0"], ["--gpu", "device cpu", "leave --gpu out"]),
    (["info", "--device", "cpu", "--gpu", "0"], ["--gpu", "--device is cpu"]),
    (["run", "cpu", "--set", "opt"], ["'opt'", "NAME=VALUE"]),
    (["run", "cpu", "--set", "opt="], ["'opt='", "NAME=VALUE"]),
    (["run", "cpu", "--set", "=O2"], ["'=O2'", "NAME=VALUE"]),
    (["run", "comparison", "--set", "block=64,block=128"], ["block is given twice", "'block=64,block=128'"]),
    (["verify", "--set", "block=64,block=64"], ["block is given twice"]),
    (["compare", "host/plain", "host/plain:opt=O2,opt=O3"], ["opt is given twice"]),
    (["run", "comparison", "--set", "blok=256"], ["'blok'", "'block'", "granularity"]),
    (["run", "comparison", "--set", "block=33"], ["block=33", "allowed", "256"]),
    (["verify", "--device", "sim", "--set", "block=zwei"], ["block=zwei", "allowed"]),
    (["verify", "--variants", "^levels/naive$", "--set", "policy=par"], ["'policy'", "block"]),
    (["compare", "host/plain", "host/plain:opt=O2", "--dataset", "narrow"], ["'narrow' for f32", "ill-conditioned", "spread"]),
    (["compare", "host/plain", "host/plain:opt=O2", "--dataset", "spread", "--types", "f32,i32"], ["'spread' for i32"]),
    (["run", "cpu", "--seed", "many"], ["--seed", "many"]),
    (["run", "cpu", "--seed", "-1"], ["--seed"]),
    (["run", "cpu", "--order-seed", "-1"], ["--order-seed", "-1"]),
    (["run", "cpu", "--min-samples", "0"], ["--min-samples"]),
    (["run", "cpu", "--min-samples", "9", "--max-samples", "3"], ["--max-samples", "--min-samples"]),
    (["run", "cpu", "--max-samples", "0"], ["--max-samples"]),
    (["run", "cpu", "--contexts", "5"], ["--contexts", "from 6 on", "not 5"]),
    (["run", "cpu", "--allocations", "5"], ["--contexts", "from 6 on", "not 5"]),
    (["run", "cpu", "--allocations", "6", "--contexts", "7"], ["the old name of --contexts; give only one"]),
    (["run", "cpu", "--allocations", "x"], ["malformed --contexts 'x'; give a whole number"]),
    (["run", "cpu", "--contexts", "50", "--max-samples", "20"], ["--max-samples 20", "--contexts 50"]),
    (["run", "cpu", "--timeout", "0"], ["--timeout 0", "more than 0"]),
    (["run", "cpu", "--timeout", "-2.5"], ["--timeout -2.5", "more than 0"]),
    (["run", "cpu", "--timeout", "nan"], ["--timeout nan", "more than 0"]),
    (["run", "cpu", "--timeout", "soon"], ["--timeout", "soon"]),
    (["verify", "--tier", "fast"], ["'fast'", "quick", "sanitizer", "standard", "gpu"]),
    (["verify", "--variants", "^host/plain$", "--device", "sim"], ["sim", "list"]),
    (["verify", "--tier", "quick", "--junit", "no/such/folder/j.xml"], ["no/such/folder/j.xml"]),
    (["verify", "--sizes", "10", "--tier", "quick"], ["--sizes", "--tier"]),
    (["report", "results", "--samples", "some"], ["--samples", "means, all or none", "'some'"]),
    (["report", "no/such/folder"], ["no/such/folder", "is not a folder"]),
    (["report", "results", "--out", "no/such/folder/x.html"], ["cannot write 'no/such/folder/x.html'", "--out"]),
    (["plot", "results", "--out", "no/such/folder/x.png"], ["cannot write 'no/such/folder/x.png'", "--out"]),
    (["compare", "host/plain", "host/unroll4", "--json-to", "no/x.json"], ["cannot write 'no/x.json'", "--json-to"]),
    (["verify", "levels/naive"], ["'levels/naive'", "--variants levels/naive"]),
    (["verify", "mine.cu"], ["there is no plug-in 'mine.cu'"]),
    (["help", "verfy"], ["unknown subcommand 'verfy'", "'verify'"]),
    (["completion", "fish"], ["no completion for 'fish'", "bash and zsh"]),
    (["claims", "s1"], ["none in out/results", "reductio run"]),
    (["run", "cpu", "--sizes", "5:"], ["malformed size '5:'", "2^10:2^30"]),
    (["releases", "--architecture", "foo"], ["--architecture takes a whole number, not 'foo'"]),
    (["compare", "host/plain", "host/unroll4", "--timeout", "foo"], ["--timeout takes a number of seconds, not 'foo'"]),
    (["list", "--types", "i128", "--operations", "moments", "--variants", "host"], ["no variant matches all of --variants"]),
    *((["list", "experiments", *option], [option[0], "leave it out"])
      for option in (["--variants", "x"], ["--types", "f32"], ["--device", "cpu"], ["--all"])),
    (["new"], ["name"]),
    (["new", "mine/x", "--source", "/proc"], ["/proc", "source folder"]),
    (["new", "..."], ["'...'", "mine/"]),
    (["new", "twopass/rolled"], ["'twopass/rolled'", "already"]),
    *((["new", group + "/mine"], [f"'{group}/'", "document or library", "mine/mine"])
      for group in ("cub", "cublas", "thrust", "eigen", "host", "std", "openmp", "squares", "twopass", "unroll",
                    "levels", "multiblock", "tuned", "modern", "compensated", "ablation")),
    *((["new", name], [f"'{name}'", "a-z, 0-9 and -", "mine/first-idea"])
      for name in ("../../etc/passwd", "mine/../x", "/mine", "mine/", "Mine/x", "mine/x y", "mine/-x", "mine/x_y",
                   "mine/é")),
    (["new", "mine/" + "x" * 300], ["305 characters", "at most 64"]),
    (["new", "mine/x", "--source", "x" * 5000], ["source folder"]),
    (["new", "Two Pass/../rolled?", "extra"], ["'extra'"]),
]


@pytest.mark.parametrize("arguments,words", WRONG, ids=[" ".join(a)[:80] or "(nothing)" for a, _ in WRONG])
def test_wrong_request(reductio, tmp_path, arguments, words):
    keep = tmp_path / "results" / "kept.csv"
    keep.parent.mkdir()
    keep.write_text("what was there\n")
    before = snapshot(tmp_path)
    done = reductio(*arguments)
    message = done.error(1)
    for word in words:
        assert word in message
    assert not done.out
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("arguments", [["run", "comparison", "--device", "cuda"], ["run", "comparison"],
                                       ["verify", "--device", "cuda"], ["verify", "--gpu", "0"],
                                       ["info", "--device", "cuda"], ["selftest", "--gpu", "0"],
                                       ["run", "cpu", "comparison", "--gpu", "0"]])
def test_no_gpu_exits_77_and_says_what_works(reductio, tmp_path, arguments):
    # Hides a GPU that may be there; without a driver, or built without CUDA, there is none anyway.
    done = reductio(*arguments, CUDA_VISIBLE_DEVICES="")
    message = done.error(77)
    assert "--device cpu" in message and "--device sim" in message
    assert not done.out and not snapshot(tmp_path)


@pytest.mark.parametrize("arguments", [["run", "cpu"], ["compare", "host/plain", "host/unroll4"], ["models", "."]])
@pytest.mark.parametrize("value", ["0", "1", "95", "100%", "nan", "much"])
def test_a_confidence_is_a_share_to_every_subcommand(reductio, arguments, value):
    assert reductio(*arguments, "--confidence", value).error(1) == (
        f"reductio: --confidence takes a share between 0 and 1, such as 95% or 0.95, not '{value}'")


@pytest.mark.parametrize("value", ["90%", "90 %", "0.9"])
def test_a_confidence_is_given_in_percent_or_not(reductio, value):
    few = ["compare", "host/plain", "host/unroll4", "--sizes", "2^10", "--max-samples", "24", "--json"]
    assert json.loads(reductio(*few, "--confidence", value).ok())["confidence"] == 0.9
    reductio("run", "cpu", "--dry-run", "--confidence", value).ok()
    # As far as the folder, which is none.
    assert "machine.json" in reductio("models", ".", "--confidence", value).error(1)


def test_gpu_selector_is_checked(reductio):
    # Before anything is opened, so that it is told as a typing error also where there is no GPU.
    assert "'first' is not a GPU" in reductio("verify", "--gpu", "first", CUDA_VISIBLE_DEVICES="").error(1)
