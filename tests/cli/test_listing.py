"""list, info, --version and --help: what a newcomer types first."""

import json
import re
import shlex
import shutil
import subprocess

import pytest

from conftest import BIN, CPU, GPU_BASELINES, KERNELS, SOURCE


def test_lists_every_id_of_documents_and_baselines(reductio):
    listed = {v["id"]: v for v in json.loads(reductio("list", "--json").ok())}
    missing = set(KERNELS + CPU) - set(listed)
    assert not missing
    for kernel in KERNELS:
        assert "sim" in listed[kernel]["devices"], kernel
        assert listed[kernel]["types"] and set(listed[kernel]["types"]) == {"i32", "f32", "f64"}, kernel
    for baseline in CPU:
        assert listed[baseline]["devices"] == ["cpu"], baseline
    with_cuda = "cuda" in listed["twopass/rolled"]["devices"]
    for baseline in GPU_BASELINES:
        assert (baseline in listed) == with_cuda, baseline


def listed(text: str) -> list[str]:
    """The ids of a listing: what stands first in its rows."""
    return [line.split()[0] for line in text.splitlines()[1:] if "/" in line.split(" ")[0]]


def test_the_listing_ends_with_two_commands_that_need_no_gpu(reductio):
    text = reductio("list").ok()
    commands = [shlex.split(line.removeprefix("next: ")) for line in text.splitlines()[-2:]]
    assert [words[0] for words in commands] == [str(BIN)] * 2 and [words[1] for words in commands] == ["verify", "compare"]
    verified, compared = (reductio(*words[1:], *more).ok() for words, more in zip(
        commands, ([], ["--sizes", "2^10", "--contexts", "6", "--timeout", "0.01"])))
    assert "0 failed" in verified and "host/unroll4" in compared
    readme = (SOURCE / "README.md").read_text()
    assert all(" " + line.split(str(BIN) + " ")[1] in readme for line in text.splitlines()[-2:])
    assert "next: " not in reductio("list", "--variants", "^host/").ok()


def test_table_json_and_csv_say_the_same(reductio):
    variants = json.loads(reductio("list", "--json").ok())
    ids = [v["id"] for v in variants]
    assert ids == sorted(ids)
    assert [row["variant"] for row in reductio("list", "--csv").rows()] == ids
    table = reductio("list", "--all").ok()
    assert sorted(listed(table)) == ids
    assert table.splitlines()[-1].startswith(f"{len(ids)} variants")
    kinds = {v["id"]: v["kind"] for v in variants}
    order = [kinds[i] for i in listed(table)]
    assert order == sorted(order, key=["yours", "document", "ours", "library", "cpu"].index)


def test_the_listing_has_a_heading_for_each_document_and_folds_crowds(reductio):
    text = reductio("list", COLUMNS="100").ok()
    headings = [line.split(":")[0] for line in text.splitlines() if ": " in line and not line.startswith(" ")]
    documents = ["squares", "twopass", "unroll", "levels", "multiblock"]
    assert [h for h in headings if h in documents] == documents
    ablation = [v["id"] for v in json.loads(reductio("list", "--json").ok()) if v["id"].startswith("ablation/")]
    assert [line.split() for line in text.splitlines() if line.startswith("ablation/")] == [
        ["ablation/...", *text.split("ablation/...")[1].split()[:1], str(len(ablation)), "combinations,", "--all",
         "lists", "them"]]
    assert listed(reductio("list", "--variants", "^ablation/").ok()) == ablation


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("arguments", [
    ["list"], ["list", "--all"], ["list", "experiments"], ["--help"], *([sub, "--help"] for sub in (
    "list info verify run compare plot report selftest models summarize claims probe record new completion".split()))],
    ids=lambda a: " ".join(a) if isinstance(a, list) else a)
def test_no_line_is_wider_than_the_terminal_and_no_word_is_broken(reductio, arguments, columns):
    text = reductio(*arguments, COLUMNS=str(columns)).ok()
    assert max(map(len, text.splitlines())) <= columns, max(text.splitlines(), key=len)
    wide = set(reductio(*arguments, COLUMNS="100").ok().split())
    assert {word for word in text.split() if not word.endswith(":")} <= wide | {"\\"}  # paragraphs name their columns


def test_list_filters(reductio):
    def ids(*arguments):
        return [row["variant"] for row in reductio("list", "--csv", *arguments).rows()]
    assert ids("--variants", "^twopass/") == [k for k in sorted(KERNELS) if k.startswith("twopass/")]
    assert set(ids("--device", "cpu")) >= set(CPU)
    assert not set(ids("--device", "cpu")) & set(KERNELS)
    assert all(v.startswith(("squares/", "twopass/", "unroll/", "levels/", "multiblock/", "ablation/", "modern/", "tuned/",
                             "compensated/", "exact/"))
               for v in ids("--device", "sim"))
    squares = ids("--operations", "sum_of_squares", "--variants", "^(squares|eigen)/")
    assert "eigen/squared-norm" in squares and "eigen/sum" not in squares


def test_lists_experiments(reductio):
    names = [e["experiment"] for e in reductio("list", "experiments", "--csv").rows()]
    assert {"comparison", "cpu"} <= set(names)
    assert names == [e["name"] for e in json.loads(reductio("list", "experiments", "--json").ok())]


def test_info_tells_all_about_a_variant(reductio):
    text = reductio("info", "levels/global-stride").ok()
    for word in ("levels/global-stride", "f32, i32, f64", "--set block=", "--set granularity=", "--set finish=",
                 "default"):
        assert word in text
    described = json.loads(reductio("info", "levels/global-stride", "--json").ok())
    listed = json.loads(reductio("list", "--json", "--variants", "^levels/global-stride$").ok())
    assert [described] == listed
    assert {"block", "granularity", "finish"} <= {t["name"] for t in described["tunables"]}


def test_list_and_info_tell_of_a_known_fault(reductio):
    faults = json.loads(reductio("info", "twopass/multiple-of-32", "--json").ok())["known_faults"]
    text = reductio("info", "twopass/multiple-of-32").ok()
    assert any("block=96" in why for why in faults) and not any("block=64" in why for why in faults)
    assert all(why in text for why in faults)
    has = {line.split()[0] for line in reductio("list").ok().splitlines() if "has a known fault" in line}
    assert has == {"twopass/multiple-of-32"}
    assert "known_faults" not in json.loads(reductio("info", "twopass/rolled", "--json").ok())


def test_info_tells_about_machine_and_build(reductio):
    text = reductio("info").ok()
    for word in ("device cuda", "device sim", "device cpu", "cuBLAS", "TBB", "NVML", "build", "memory"):
        assert word in text, word
    info = json.loads(reductio("info", "--json").ok())
    assert [d["device"] for d in info["devices"]] == ["cuda", "sim", "cpu"]
    assert info["devices"][2]["available"] and info["devices"][2]["memory_bytes"] > 0
    assert set(info["libraries"]) == {"cuBLAS", "TBB", "NVML"}


def test_version_names_release_and_revision(reductio):
    text = reductio("--version").ok()
    assert re.fullmatch(r"reductio \d+\.\d+\.\d+ \(.+\)\n(built without CUDA|CUDA toolkit: .+, CCCL \d.+)\n"
                        r"C\+\+ compiler: .+ \d.+\n", text), text
    declared = re.search(r"project\(reductio VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
    assert text.startswith(f"reductio {declared} ")


@pytest.mark.parametrize("sub", [[], ["list"], ["info"], ["verify"], ["run"], ["compare"], ["selftest"], ["new"]],
                         ids=lambda sub: " ".join(sub) or "(nothing)")
def test_help_exits_0_and_goes_to_stdout(reductio, sub):
    done = reductio(*sub, "--help")
    assert "Usage: reductio" in done.ok() and not done.err
    for option in {"run": ["--variants", "--types", "--operations", "--sizes", "--set", "--device", "--gpu", "--out",
                           "--resume", "--csv", "--json", "--quiet", "--seed", "--order-seed", "--profile", "--dry-run",
                           "--quick", "--full", "--min-samples", "--max-samples", "--contexts", "--timeout",
                           "--confidence"],
                   "compare": ["--types", "--operations", "--sizes", "--modes", "--cache", "--dataset", "--device", "--gpu", "--seed",
                               "--order-seed", "--min-samples", "--max-samples", "--contexts", "--timeout",
                               "--confidence", "--effect", "--csv",
                               "--json", "--quiet", "--fail-if-slower", "--save-baseline", "--baseline", "--out"],
                   "selftest": ["--device", "--order-seed", "--repeats", "--quick", "--json"],
                   "verify": ["--junit", "--tier", "--device", "--variants", "--seed"],
                   "list": ["--json", "--csv", "--variants"]}.get(sub[0] if sub else "", []):
        assert option in done.out, option
    assert "allocations" not in done.out, "the earlier name of --contexts is accepted, not listed"


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
@pytest.mark.parametrize("words,offered", [(["sum"], ["summarize"]), (["run"], ["run"]), (["run", "compa"], ["comparison"]),
                                           (["run", "--var"], ["--variants"]), (["run", "--all"], []),
                                           (["info", "levels/nai"], ["levels/naive"]),
                                           (["verify", "--variants", "twopass/ro"], ["twopass/rolled"]),
                                           (["verify", "--types", "bf"], ["bf16"]), (["claims", "out/"], []),
                                           (["compare", "--types", "f32,bf"], ["f32,bf16"]),
                                           (["compare", "--modes", "gr"], ["graph"]),
                                           (["compare", "--cache", "cold_c"], ["cold_clean"]),
                                           (["compare", "--sizes", ""], []),
                                           (["verify", "--tier", ""], "quick sanitizer check standard gpu".split()),
                                           (["new", "--from", "la"], ["last-block"])])
def test_bash_completes(reductio, words, offered):
    """As bash calls the function: the program, the word under the cursor, the word before it."""
    line = " ".join(f"'{w}'" for w in [str(BIN), *words])
    ask = (f"source <('{BIN}' completion bash); COMP_WORDS=({line}); _reductio '{BIN}' '{words[-1]}' "
           f"'{([str(BIN)] + words)[-2]}'; echo \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (offered, "")


def test_each_help_ends_with_its_own_examples(reductio):
    subcommands = re.findall(r"^  ([a-z]+)  ", reductio("--help").ok(), re.MULTILINE)
    assert {"run", "new", "completion"} <= set(subcommands)
    for sub in subcommands:
        _, lines = re.split(r"\nExamples?:\n", reductio(sub, "--help").ok())
        for line in lines.strip().splitlines():
            assert line.strip().removeprefix("source <(").split(" ")[:2] == ["reductio", sub]


def test_without_cuda_its_variants_are_told_from_typing_errors(reductio):
    if "built without CUDA" not in reductio("--version").ok():
        pytest.skip("built with CUDA")
    for arguments in (["compare", "cub/sum", "twopass/rolled"], ["info", "thrust/reduce"], ["list", "--variants", "^cublas/"]):
        assert "this program was built without CUDA, which the cub/, cublas/ and thrust/ of GPUs need" in reductio(*arguments).error()


def test_zsh_has_the_same_by_bashcompinit(reductio):
    bash, zsh = (reductio("completion", shell).ok() for shell in ("bash", "zsh"))
    assert zsh.endswith(bash) and "bashcompinit" in zsh
    assert "bash or zsh" in reductio("completion").error()


def test_help_is_a_subcommand_too(reductio):
    assert reductio("help").ok() == reductio("--help").ok()
    assert reductio("help", "verify").ok() == reductio("verify", "--help").ok()


def test_a_build_without_cuda_says_that_it_lacks_it(reductio):
    if json.loads(reductio("info", "--json").ok())["program"]["cuda_compiler"]:
        pytest.skip("built with CUDA")
    assert "built without CUDA" in reductio("list", "--device", "cuda").error(1)
    for command in (["compare", "levels/naive", "levels/naive"], ["selftest", "levels/naive"]):
        assert "built without CUDA" in reductio(*command, "--device", "cuda").error(77)
    assert "does not run on device cuda" in reductio("compare", "host/plain", "host/unroll4", "--device", "cuda").error(1)
