"""A results folder that somebody else made runs no script and adds no markup, whatever it holds."""

import json

import pytest
from report import page as report
from report import tables as tb
import synthetic

PAYLOADS = [
    "<script>window.pwned = 1</script>",
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg onload=window.pwned=1><circle/></svg>",
    "\"><iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "' autofocus onfocus='window.pwned=1",
    "javascript:window.pwned=1",
    "<a href=javascript:window.pwned=1>x</a>",
    "<!-- <script> ]]> --> {{DATA}} {{SCRIPT}} \\g<1>",
    "<style>body{display:none}</style>",
    "<meta http-equiv=refresh content='0;url=http://reductio.invalid/'>",
    "${window.pwned=1}{{constructor.constructor('window.pwned=1')()}}",
    "__proto__", "constructor", "toString",
    "\u202e\x01\x7f&lt;b&gt;&amp;#60;",
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    rows = []
    for i, payload in enumerate(PAYLOADS):
        key = dict(variant=payload, settings=payload if i % 2 else "", reason=payload, run_id=payload)
        for n in (2**10, 2**12):
            rows.append(synthetic.timed(1e-9 * (i + 1) * n, n=n, speedup=1.5, speedup_reference=payload, **key))
        rows.append(synthetic.row(n=2**14, **{**key, "status": "refused"}))
        rows.append(synthetic.timed(1e-6, n=2**16, **{**key, "experiment": payload}))
        rows.append(synthetic.timed(1e-6, n=2**10, **{**key, "dataset": payload}))
    name = "<img src=x onerror=window.pwned=1>"
    folder = synthetic.write_folder(tmp_path_factory.mktemp("hostile") / name, rows)
    gpu, build = synthetic.MACHINE["gpu"], synthetic.MACHINE["build"]
    runs = [dict(experiment=p, run_id=p, arguments=[p], memory_idle_at_start=False, machine_id=p, host_cpu=p,
                 timing={"device": {"launch_floor_s": p}}, gpu_state_at_end=p) for p in PAYLOADS]
    (folder / "machine.json").write_text(json.dumps(
        {**synthetic.MACHINE, "machine": PAYLOADS[0], "os": PAYLOADS[1] + "\u2028", "runs": runs,
         "gpu": dict.fromkeys(gpu, PAYLOADS[2]), "build": dict.fromkeys(build, PAYLOADS[3]),
         "__proto__": {"polluted": 1}}))
    catalog = [dict(dict.fromkeys("variant title cites thread block grid group".split(), p), kind="document",
                    base_of="", default_settings="", operations="sum", document_n="") for p in PAYLOADS]
    synthetic.write_csv(folder / "catalog.csv", catalog)
    claims = [dict(dict.fromkeys(tb.VERDICTS.names, p), **dict.fromkeys(tb.VERDICTS.numbers, 1), verdict="holds",
                   role="claim") for p in PAYLOADS]
    synthetic.write_csv(folder / "verdicts.csv", claims)
    path = tmp_path_factory.mktemp("page") / "hostile.html"
    text, missing = report.make([folder], root="../")
    assert missing == []
    path.write_text(text)
    return path


def test_the_file_itself_holds_none_of_it(hostile):
    text = hostile.read_text()
    head, _, data = text.partition('id="data">')
    rest = head + data.partition("</script>")[2]
    assert "&lt;img src=x onerror=window.pwned=1&gt;: reductio</title>" in head, "the folder's name, escaped"
    assert [payload for payload in PAYLOADS if "pwned" in payload and payload in rest] == []


@pytest.mark.parametrize("view", ["chart", "claims", "conditions"])
def test_it_is_shown_as_text_and_nothing_runs(page, hostile, view):
    page.open(hostile, f"#view={view}")
    if view == "chart":
        keys = page.js("return [...document.querySelectorAll('#variants button')].map(b => b.dataset.key)")
        assert {key.partition(":")[0] for key in keys} >= {p for p in PAYLOADS if ":" not in p}
        for key in keys:
            page.variant(key, shift=True)
            page.hover(0, click=True)
            assert page.js("return document.querySelectorAll('#plot svg circle, #plot svg path').length") > 0
        for name in ("experiment", "dataset", "base"):
            for word in page.options(name):
                page.choose(name, word)
    text = page.js("return document.body.textContent")
    for payload in PAYLOADS:
        assert payload in text or view == "chart", payload
    assert page.js("return window.pwned") is None and page.js("return ({}).polluted") is None
    for markup in ("[...document.querySelectorAll('img, iframe, object, base, [http-equiv=refresh], body style')]"
                   ".filter(e => !e.closest('svg'))",
                   "[...document.querySelectorAll('*')]"
                   ".filter(e => [...e.attributes].some(a => a.name.startsWith('on')))",
                   "[...document.querySelectorAll('a')].filter(a => !['file:', 'blob:'].includes(a.protocol))"):
        assert page.js(f"return {markup}.map(e => e.outerHTML)") == []
    assert page.console() == [] and page.requests() == []
