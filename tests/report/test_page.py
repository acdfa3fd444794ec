"""The page in a real browser: what it draws and says is what the CSV holds, whatever is chosen; and it asks nobody."""

import csv
import io
import json
import os
import re
import shutil
import time
import xml.etree.ElementTree

import pandas as pd
import pytest
from browser import HANGS_S, RESULTS
from project import SOURCE

ROLLED = "twopass/rolled:block=256;grid=auto;finish=second-launch;index=document"

# The fields of a table's rows.
CELLS = ("return [...document.querySelectorAll(`${arguments[0]} tbody tr`)]"
         ".map(r => [...r.children].map(c => c.textContent))")


def of_table(page):
    """The chart's table turned round: by n what it says of each variant that is shown."""
    columns = zip(page.texts("#table thead th"), *page.js(CELLS, "#table"))
    next(columns)  # the variants' names
    return {size_of(n): words for n, *words in columns}


def machines(page):
    """The words of the table of machines: by name, those of the first folder."""
    return {name: words[0] for name, *words in page.js(CELLS, "#conditions-view > .scroll:nth-of-type(1)")}


@pytest.fixture(scope="module")
def rows():
    """Of the first view, and of the experiments beside it."""
    table = pd.read_csv(RESULTS / "nvidia-h200" / "comparison.csv.gz", low_memory=False)
    return table[(table["status"] == "ok") & (table["element_type"] == "f32") & (table["operation"] == "sum") &
                 (table["timing_mode"] == "device")]


def row_of(rows, key, n):
    variant, _, settings = key.partition(":")
    matching = rows[(rows["variant"] == variant) & (rows["settings"].fillna("") == settings) & (rows["n"] == n)]
    assert len(matching) == 1
    return matching.iloc[0]


def numbers(text):
    return [float(part.replace(",", "")) for part in re.findall(r"[\d.,]*\d", text)]


def size_of(text):
    return 2 ** int(text[2:]) if text.startswith("2^") else int(text.replace(",", ""))


def key_of(page, label):
    """The pressed variant of this label."""
    return page.js("return [...document.querySelectorAll('#variants button')].find(b => b.textContent === arguments[0])"
                   ".dataset.key", label)


def saved(page, button):
    """What a button saves."""
    for old in page.driver.downloads.iterdir():
        old.unlink()
    page.js("document.getElementById(arguments[0]).click()", button)
    end = time.time() + HANGS_S
    while time.time() < end:
        time.sleep(0.05)
        files = {p.name for p in page.driver.downloads.iterdir()}  # while it is written, under another name
        if len(files) == 1 and not any(name.startswith(".") or name.endswith(".crdownload") for name in files):
            return (page.driver.downloads / files.pop()).read_bytes()
    raise AssertionError(f"{button} saved nothing")


def test_the_first_view_is_drawn_and_nothing_is_asked_for(page, h200):
    page.open(h200)
    assert page.text("#caption") == "comparison: sum of f32, device time, L2 cold and dirty; NVIDIA H200 (nvidia-h200)"
    assert page.text("#title") == "reductio: NVIDIA H200"
    pressed = page.pressed()
    assert {"tuned/sum", "levels/global-stride"} <= {key.partition(":")[0] for key in pressed}
    assert page.js("return document.querySelectorAll('#plot svg path').length") > len(pressed)
    for view in page.js("return [...document.querySelectorAll('#views button')].map(b => b.id)"):
        page.js("document.getElementById(arguments[0]).click()", view)
    assert page.console() == [] and page.requests() == []


def test_a_request_and_an_evaluation_would_be_seen(page, h200):
    page.open(h200)
    page.js("new Image().src = 'http://reductio.invalid/x.png';"
            "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);"
            "const t = document.createElement('p'); t.setAttribute('onclick', 'window.ran = 1');"
            "document.body.append(t); t.click();"
            "window.setTimeout(\"window.ran = 1\", 0)")
    time.sleep(0.1)
    assert page.js("return window.ran === undefined")
    assert len([line for line in page.console() if "Content Security Policy" in line]) >= 4


@pytest.mark.parametrize("value, name, columns, scale", [
    ("time", "time", ("time_median_s", "time_ci_low_s", "time_ci_high_s"), 1e6),
    ("speedup", "speedup over cub/sum", ("speedup", "speedup_ci_low", "speedup_ci_high"), 1),
    ("share", "share of the read ceiling", ("share_of_read_ceiling",), 100)])
def test_hovering_tells_the_numbers_of_the_csv(page, h200, rows, value, name, columns, scale):
    page.open(h200, f"#value={value}")
    shown = set()
    for number in range(0, page.points(), 13):
        page.hover(number)
        label, facts = page.tip()
        shown.add(label)
        row = row_of(rows, key_of(page, label), size_of(facts["n"]))
        for text, value in zip(re.findall(r"[\d.,]*\d", facts[name]), [scale * row[c] for c in columns], strict=True):
            digits = len(text.partition(".")[2])
            assert text == f"{value:,.{digits}f}" and digits >= (0 if value >= 99.95 else 1), (facts, columns)
        assert facts["samples"] == f"{row['n_samples']:.0f}"
    assert len(shown) > 3, "points of several variants"
    page.hover(0, click=True)
    assert page.facts("#point")["title"] and page.facts("#point")["strategy"]
    assert page.facts("#point")["code"].startswith("src/kernels/")


def test_errors_against_time(page, h200):
    table = pd.read_csv(RESULTS / "nvidia-h200" / "accuracy.csv.gz", low_memory=False)
    table = table[(table["dataset"] == "random") & (table["cache_state"] == "warm")]
    page.open(h200, f"#experiment=accuracy&cache_state=warm&value=error&size={2**20}")
    seen = {}
    for number in range(page.points()):
        page.hover(number)
        label, facts = page.tip()
        assert facts["n"] == "2^20"
        seen[key_of(page, label)] = facts["error"], numbers(facts["time"])[0]
    assert len(seen) > 2
    for key, (error, time_us) in seen.items():
        row = row_of(table, key, 2**20)
        exact = row["abs_error"] / row["sum_of_magnitudes"]
        assert error == "exact" if not exact else float(error) == pytest.approx(exact, rel=0.01)
        assert time_us == pytest.approx(1e6 * row["time_median_s"], rel=0.01)
    page.choose("size", str(2**28))
    page.hover(0)
    assert page.tip()[1]["n"] == "2^28"
    page.js("document.querySelector('#plot svg').dispatchEvent(new PointerEvent('pointerleave', {pointerType: 'mouse'}))")
    link, before = page.js("return location.hash"), page.texts("#plot text")
    page.open(h200, link)
    assert page.texts("#plot text") == before and page.console() == []


def test_the_pointer_shows_the_nearest_point_and_a_click_opens_it(page, h200):
    page.open(h200)
    for number in (1, 30):  # and another while one is open
        page.hover(number)
        told = page.tip()
        at = page.js("const b = document.querySelectorAll('#plot [aria-label=dot] > *')[arguments[0]].getBoundingClientRect();"
                     "return [b.x + b.width / 2, b.y + b.height / 2]", number)
        page.js("document.querySelector('#plot svg').dispatchEvent(new PointerEvent('pointerleave', {pointerType: 'mouse'}))")
        assert page.texts("#plot [aria-label=tip] tspan") == []
        mouse = dict(x=at[0] + 2, y=at[1], button="left", clickCount=1)

        def moved():  # after a scroll, Chromium tells once more where the mouse was
            page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {**mouse, "type": "mouseMoved", "button": "none"})
            return page.texts("#plot [aria-label=tip] tspan") and page.tip() == told

        page.until(moved, f"the tip says {told}")
        for kind in ("mousePressed", "mouseReleased"):
            page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {**mouse, "type": kind})
        assert page.text("#samples h3") == f"Samples of {told[0]} at n = {told[1]['n']}"
        page.js("window.scrollTo(0, 0)")


def test_a_number_of_the_table_opens_its_point(page, h200):
    page.open(h200)
    page.js("document.getElementById('table').open = true")
    page.wait("document.querySelector('#table td button')")
    number = page.js("const b = document.querySelectorAll('#table td button')[4]; b.focus(); b.click(); return b.textContent")
    facts = page.facts("#point")
    assert facts["n"] == "2^14" and facts["speedup over cub/sum"] == number
    assert page.text("#samples h3") == f"Samples of {facts['variant']} at n = 2^14"
    assert page.js("return document.activeElement.textContent") == number


def test_every_choice_changes_what_it_says(page, h200):
    page.open(h200)
    said = {"experiment": lambda: page.text("#caption"), "operation": lambda: page.text("#caption"),
            "element_type": lambda: page.text("#caption"), "timing_mode": lambda: page.text("#caption"),
            "value": lambda: page.texts("#plot text"), "scale": lambda: page.texts("#plot text"),
            "base": lambda: page.texts("#plot text")}
    for name, what in said.items():
        offered, before = page.options(name), what()
        assert len(offered) > 1, name
        now = page.js("return document.querySelector(`select[name=${arguments[0]}]`).value", name)
        page.choose(name, next(word for word in offered if word != now))
        assert what() != before, name
        page.choose(name, now)
        assert what() == before, name
    page.choose("experiment", "limits")
    before = page.text("#caption")
    page.choose("cache_state", "warm")
    assert "L2 warm" in page.text("#caption") and "L2 warm" not in before
    assert page.console() == []


def test_a_choice_offers_what_there_is_alone(page, h200, rows):
    page.open(h200)
    table = pd.read_csv(RESULTS / "nvidia-h200" / "narrow.csv", low_memory=False)
    page.choose("experiment", "narrow")
    assert page.options("operation") == sorted(table["operation"].unique())
    page.choose("operation", "wide_sum")
    assert page.options("element_type") == sorted(table.loc[table["operation"] == "wide_sum", "element_type"].unique())


def test_the_first_view_has_most_of_a_folders_rows(page, tmp_path):
    """The CPU's rows are of a warm cache, but for one variant; an experiment is called by its name."""
    from report import page as report

    path = tmp_path / "cpu.html"
    path.write_text(report.make([RESULTS / "cpu-intel-xeon"])[0])
    page.open(path)
    assert page.text("#caption") == "cpu: sum of f32, end to end, L2 warm; cpu-intel-xeon"
    assert page.texts("select[name=experiment] option") == ["cpu", "vector_add"]
    assert {"eigen/sum", "openmp/sum"} <= {key.partition(":")[0] for key in page.pressed()}
    assert page.texts("#views button") == ["Chart", "Conditions"], "there are no verdicts and no releases"
    assert page.console() == []


def test_a_click_adds_and_a_shift_click_shows_one_alone(page, h200):
    page.open(h200)
    before = page.pressed()
    page.variant(before[0])
    assert page.pressed() == before[1:]
    page.variant(before[0])
    assert set(page.pressed()) == set(before)
    page.variant(ROLLED, shift=True)
    assert page.pressed() == [ROLLED]
    assert page.texts("#plot svg > text") == ["twopass/rolled [second-launch]"]
    assert page.js("return document.querySelectorAll(`#plot svg > path[fill='#332288']`).length") == 1, "its mark"


def test_a_chosen_variant_stays_chosen_where_it_is_not_measured(page, h200):
    page.open(h200)
    page.variant(ROLLED, shift=True)
    page.choose("operation", "sum_of_squares")  # which it does not compute: the first view stands in
    assert len(page.pressed()) > 1 and ROLLED not in page.pressed()
    page.choose("operation", "sum")
    assert page.pressed() == [ROLLED]
    page.variant(ROLLED)
    assert page.pressed() == [] and page.text("#plot") == "Choose a variant."


def test_the_search_reads_titles_and_strategies(page, h200):
    page.open(h200)
    find = ("const s = document.getElementById('search'); s.value = arguments[0]; s.dispatchEvent(new Event('input'));"
            "return [...document.querySelectorAll('#variants button')].map(b => b.dataset.key)")
    everything = page.js(find, "")
    keys = page.js(find, "Last Block")  # neither case nor order of the words counts
    assert "multiblock/last-block-warp" in {key.partition(":")[0] for key in keys} and 0 < len(keys) < len(everything)
    assert page.js(find, "no such thing") == [] and "No variant matches" in page.text("#variants")


@pytest.mark.parametrize("changes", [
    [("experiment", lambda page: page.choose("experiment", "levels"))],
    [("type", lambda page: page.choose("element_type", "f64")), ("scale", lambda page: page.choose("scale", "log"))],
    [("value", lambda page: page.choose("value", "time"))],
    [("base", lambda page: page.choose("base", ROLLED)), ("variant", lambda page: page.variant(ROLLED, shift=True)),
     ("point", lambda page: page.hover(1, click=True))],
    [("conditions", lambda page: page.js("document.getElementById('view-conditions').click()"))],
    [("claims", lambda page: page.js("document.getElementById('view-claims').click()")),
     ("verdict", lambda page: page.choose("verdict", "reversed"))]], ids=lambda changes: " ".join(name for name, _ in changes))
def test_a_link_restores_the_view(page, h200, changes):
    def look():
        return page.text("main"), page.js("return [...document.querySelectorAll('svg text')]"
                                          ".filter(t => t.checkVisibility()).map(t => t.textContent)")

    page.open(h200)
    for name, change in changes:
        before = look()
        change(page)
        assert look() != before, f"{name} changes nothing that would have to be restored"
    before, link = look(), page.js("return location.hash")
    page.open(h200, link)
    assert look() == before


def test_a_link_to_what_is_not_there_shows_the_first_view(page, h200):
    page.open(h200, "#experiment=no&value=__proto__&base=x&view=constructor&s=nothing&folder=none&size=1e9&point=x")
    assert page.text("#caption").startswith("comparison: ") and page.console() == []


def test_over_another_base_a_quotient_and_no_interval(page, h200, rows):
    """Intervals are those that the program wrote, over the recorded base."""
    cub = "cub/sum" + (":" + s if (s := rows.loc[rows["variant"] == "cub/sum", "settings"].fillna("").iloc[0]) else "")
    page.open(h200, "#s=" + "&s=".join((cub, ROLLED)) + f"&base={cub}")
    page.js("document.getElementById('table').open = true")
    page.wait("document.querySelector('#table td')")
    lines = of_table(page)
    assert len(lines) == 21 and "computed no interval over this base" in page.text("#note")
    for n, line in lines.items():
        row, base = row_of(rows, ROLLED, n), row_of(rows, cub, n)
        shown, = (numbers(text) for text in line if text != "1.000")
        assert shown == pytest.approx([base["time_median_s"] / row["time_median_s"]], abs=0.0006)
    page.choose("base", "fastest")
    assert "first" not in page.options("base"), "of which the page holds nothing"
    shown = [text for line in of_table(page).values() for text in line]
    assert len(shown) == 42 and set(shown) == {"2.00 [1.90, 2.10]"} and "no interval" not in page.text("#note")
    page.choose("base", "")
    row = row_of(rows, ROLLED, 2**20)
    assert [row["speedup"], row["speedup_ci_low"], row["speedup_ci_high"]] == pytest.approx(
        next(numbers(text) for text in of_table(page)[2**20] if not text.startswith("1.000")), abs=0.0006)


def test_samples_of_a_point(page, h200, rows):
    page.open(h200, f"#s={ROLLED}&point=nvidia-h200 {2**20} {ROLLED}")
    assert page.text("#samples h3") == "Samples of twopass/rolled [second-launch] at n = 2^20"
    row = row_of(rows, ROLLED, 2**20)
    caption = next(t for t in page.texts("#samples figcaption") if t.startswith("Paired ratio to cub/sum"))
    assert numbers(caption) == pytest.approx([row["speedup"], row["speedup_ci_low"], row["speedup_ci_high"]], abs=0.0015)
    dots = page.js("return document.querySelectorAll('#samples figure:first-child circle').length")
    assert dots == 12, "one for each context"


def test_every_sample_where_the_page_holds_all(page, tmp_path):
    from report import page as report

    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("cpu.csv", "cpu.samples.csv.gz", "machine.json"):
        shutil.copy(RESULTS / "cpu-intel-xeon" / name, folder)
    table = pd.read_csv(folder / "cpu.samples.csv.gz")
    rows = table[(table["variant"] == "eigen/sum") & (table["element_type"] == "f32") & (table["n"] == 2**20) &
                 (table["cache_state"] == "warm") & (table["operation"] == "sum")].iloc[0]
    times = [float(t) for t in rows["time_s"].split()]
    path = tmp_path / "all.html"
    path.write_text(report.make([folder], samples=True)[0])
    page.open(path, f"#s=eigen/sum&point=mine {2**20} eigen/sum")
    assert page.text("#samples .hint") == f"{len(times)} samples of {len(set(rows['context'].split()))} contexts."
    assert page.js("return document.querySelectorAll('#samples figure:first-child circle').length") == len(times)


def test_a_banner_where_times_may_mislead(page, tmp_path):
    from report import page as report
    import synthetic

    rows = [synthetic.timed(1e-6, n=2**10, variant="cub/sum", n_rejected=3),
            synthetic.row(n=2**10, variant="cub/sum", device="sim")]
    runs = [{"experiment": "comparison", **more} for more in (
        {"memory_idle_at_start": False}, {"times_memory_stayed_busy": 2}, {"interrupted": "by hand"},
        {"gpu_state_at_end": {"throttle_reasons": "power"}})]
    build = {**synthetic.MACHINE["build"], "build_type": "Debug", "git_dirty": True}
    machine = {**synthetic.MACHINE, "runs": runs, "build": build}
    folder = synthetic.write_folder(tmp_path / "mine", rows, machine=machine)
    path = tmp_path / "page.html"
    path.write_text(report.make([folder])[0])
    page.open(path)
    banners = page.texts("#banners p")
    for word in ("Debug", "uncommitted", "busy when these runs began", "stayed busy", "interrupted",
                 "throttled at the start or end", "At 1 point samples were discarded", "1 row of the simulated device"):
        assert [line for line in banners if word in line], word
    assert len(banners) == 8

    good = synthetic.write_folder(tmp_path / "good", [synthetic.timed(1e-6, n=2**10, variant="cub/sum")])
    path.write_text(report.make([good])[0])
    page.open(path)
    assert page.texts("#banners p") == []


def test_the_keyboard_reaches_every_variant(page, h200):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    page.open(h200)
    page.js("document.querySelector('#variants button').focus()")
    ActionChains(page.driver).send_keys(Keys.TAB, Keys.ENTER).perform()
    first, second = page.js("return [...document.querySelectorAll('#variants button')].map(b => b.dataset.key)")[:2]
    assert {first, second} <= set(page.pressed()) and page.js("return document.activeElement.dataset.key") == second
    ActionChains(page.driver).key_down(Keys.SHIFT).send_keys(Keys.ENTER).key_up(Keys.SHIFT).perform()
    assert page.pressed() == [second]


def test_saving_what_is_shown(page, h200, rows):
    page.open(h200)
    table = list(csv.DictReader(io.StringIO(saved(page, "save-csv").decode())))
    assert {f"{row['variant']}:{row['settings']}".rstrip(":") for row in table} == set(page.pressed())
    assert len(table) == 21 * len(page.pressed())
    for row in table[::17]:
        stored = row_of(rows, f"{row['variant']}:{row['settings']}".rstrip(":"), int(row["n"]))
        for column in ("time_median_s", "time_ci_low_s", "bandwidth_bytes_per_s", "speedup", "launch_floor_s"):
            assert float(row[column]) == stored[column], column
        assert row["run_id"] == stored["run_id"]
    svg = saved(page, "save-svg").decode()
    file, = page.driver.downloads.iterdir()
    assert file.name == "comparison-sum-f32-device-cold_dirty-speedup-nvidia-h200.svg"
    picture = xml.etree.ElementTree.fromstring(svg)
    texts = [t.text for t in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "tuned/sum" in texts and any(t and t.startswith("comparison: sum of f32") for t in texts)
    assert saved(page, "save-png").startswith(b"\x89PNG")
    assert page.console() == []


def test_the_claims_are_those_of_the_csv(page, h200):
    table = pd.read_csv(RESULTS / "nvidia-h200" / "verdicts.csv", keep_default_na=False)
    own = table[table["role"] == "claim"]
    page.open(h200, "#view=claims")
    first = ("return [...document.querySelectorAll('#claims-view > .scroll > table > tbody > tr')]"
             ".map(r => r.children[0].textContent)")
    assert page.js(first) == own["claim"].tolist()
    for verdict, count in own["verdict"].value_counts().items():
        assert f"{verdict} {count}" in page.text("#claims-view")
    page.choose("verdict", "reversed")
    assert page.js(first) == own.loc[own["verdict"] == "reversed", "claim"].tolist() != []
    page.choose("verdict", "holds")
    assert "(src/kernels/squares.cu)" in page.text("#claims-view")


def test_the_conditions_are_those_of_machine_json(page, h200):
    page.open(h200, "#view=conditions")
    facts = machines(page)
    assert facts["gpu name"] == "NVIDIA H200" and facts["gpu l2"] == "60 MiB" and facts["build build type"] == "Release"
    assert "false" in facts["paired"] and "false" in facts["full"], "a rule that did not hold is told, too"
    assert "element type i32 is not supported" in page.text("#conditions-view")
    warnings = page.texts("#conditions-view .banner")
    assert set(page.texts("#banners p")) < set(warnings) and any(line.startswith("No core was quiet") for line in warnings)


def test_two_folders_side_by_side_and_as_a_ratio(page, tmp_path):
    from report import page as report

    folders = [tmp_path / "nvidia-h200", tmp_path / "nvidia-h100-80gb-hbm3"]
    for folder in folders:
        folder.mkdir()
        for name in ("catalog.csv", "comparison.csv.gz", "machine.json"):
            shutil.copy(RESULTS / folder.name / name, folder)
    path = tmp_path / "two.html"
    path.write_text(report.make([*folders, RESULTS / "nvidia-h100-releases"])[0])
    page.open(path)
    for width in (1280, 800, 760):
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False})
        page.open(path)
        assert page.js(INSIDE), width
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page.open(path, "#value=time&s=" + next(key for key in page.pressed() if key.startswith("tuned/sum")))
    page.js("document.getElementById('table').open = true")
    page.wait("document.querySelector('#table td')")
    times = {n: [numbers(text)[0] for text in line] for n, line in of_table(page).items()}
    page.choose("value", "speedup")
    page.choose("base", "in nvidia-h100-80gb-hbm3")
    ratios = {n: numbers(line[0]) for n, line in of_table(page).items()}
    assert "computed no interval over this base" in page.text("#note")
    assert len(ratios) == 21
    for n, (ratio,) in ratios.items():
        assert ratio == pytest.approx(times[n][1] / times[n][0], rel=0.01)
    page.choose("folder", "nvidia-h200")
    assert [word for word in page.options("base") if word.startswith("in ")] == [], "one folder has no other to be over"
    assert "H100" not in page.text("#caption")
    assert page.options("value")
    page.js("document.getElementById('view-conditions').click()")
    differing = page.js(CELLS, "#conditions-view > .scroll:nth-of-type(1)")
    assert page.texts("#conditions-view > .scroll:nth-of-type(1) th")[1:3] == ["nvidia-h200", "nvidia-h100-80gb-hbm3"]
    same = [len(set(words)) == 1 for _, *words in differing]
    assert same == sorted(same) and "gpu theoretical peak" in [name for name, *_ in differing[:same.index(True)]]

    table = pd.read_csv(RESULTS / "nvidia-h100-releases" / "releases.csv.gz", low_memory=False)
    page.js("document.getElementById('view-releases').click()")
    page.choose("release-pair", "adjacent")
    page.choose("release-call", "thrust/reduce")
    page.choose("release-element_type", "f64")
    rows_shown = table[(table["pair"] == "adjacent") & table["variant"].str.fullmatch(r"thrust@[\d.]+/reduce") &
                       (table["element_type"] == "f64")]
    rows_shown = rows_shown[rows_shown["cache_state"] == page.js("return document.querySelector('select[name=release-cache_state]').value")]
    cells = page.js(CELLS, "#releases-view")
    assert [line[1] for line in cells] == rows_shown["variant"].tolist()
    assert [numbers(line[3])[0] for line in cells] == pytest.approx(rows_shown["speedup"].tolist(), abs=6e-4)
    assert page.console() == []


@pytest.mark.parametrize("width, scale", [(360, 1), (640, 2), (1600, 1)], ids=["phone", "zoomed", "wide"])
def test_nothing_is_wider_than_the_window(page, h200, width, scale):
    size = {"width": width, "height": 800, "deviceScaleFactor": scale, "mobile": width < 400}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.open(h200)
        for view in ("chart", "claims", "conditions"):
            page.js("document.getElementById(arguments[0]).click()", f"view-{view}")
            assert page.js("return document.documentElement.scrollWidth") <= width, view
            assert page.js("return [...document.querySelectorAll('#plot svg text')]"
                           ".every(t => parseFloat(getComputedStyle(t).fontSize) >= 10)")
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


TOUCHING = ("const all = [...document.querySelectorAll('#pasted text')].map(t => [t.textContent, t.getBoundingClientRect()]);"
            "return all.flatMap(([a, p], i) => all.slice(i + 1).filter(([b, q]) => p.left < q.right && q.left < p.right"
            "  && p.top < q.bottom - 3 && q.top < p.bottom - 3).map(([b]) => [a, b]))")


@pytest.mark.parametrize("value", ["speedup", "time", "error"])
def test_a_saved_picture_has_its_conditions_and_no_text_over_another(page, h200, value):
    page.open(h200, "#experiment=accuracy&cache_state=warm&value=error" if value == "error" else f"#value={value}")
    svg = saved(page, "save-svg").decode()
    page.js("const d = document.createElement('div'); d.id = 'pasted'; document.body.append(d);"
            "d.append(document.importNode(new DOMParser().parseFromString(arguments[0], 'image/svg+xml').documentElement,"
            " true))", svg)
    assert page.js("return document.querySelectorAll('#pasted text').length") > 10 and page.js(TOUCHING) == []
    words = " ".join(page.texts("#pasted text"))
    assert "nvidia-h200, NVIDIA H200, driver 580.159.04, 2026-11-" in words and "revision " in words
    assert page.text("#caption")[:30] in words


def test_each_axis_of_errors_against_time_has_numbers(page, h200):
    marks = ("return ['x', 'y'].map(a => [...document.querySelectorAll(`#plot g[aria-label='${a}-axis tick label'] text`)]"
             ".map(t => t.textContent))")
    page.open(h200, "#experiment=limits&value=error")
    caches = page.options("cache_state")
    views = ["#experiment=accuracy&cache_state=warm", *(f"#experiment=limits&cache_state={cache}" for cache in caches)]
    seen = 0
    for view in views:
        page.open(h200, view + "&value=error")
        for n in page.options("size"):
            page.choose("size", n)
            for ticks in page.js(marks):
                assert len(set(ticks)) == len(ticks) >= 2 and all(ticks), (view, n, ticks)
            seen += 1
    assert seen > 50


def test_a_click_on_a_columns_head_ranks_the_variants_there(page, h200, rows):
    page.open(h200, "#value=time")
    page.js("document.getElementById('table').open = true")
    page.wait("document.querySelector('#table td')")
    click = "[...document.querySelectorAll('#table th button')].find(b => b.textContent === arguments[0]).click()"
    times = sorted(1e6 * row_of(rows, key, 2**20)["time_median_s"] for key in page.pressed())
    listed = of_table(page)
    page.js(click, "2^20")
    assert [numbers(text)[0] for text in of_table(page)[2**20]] == pytest.approx(times, rel=0.01)
    page.js(click, "2^20")
    assert of_table(page) == listed, "a second click undoes it"
    page.choose("value", "speedup")
    page.js(click, "2^12")
    speedups = [numbers(text)[0] for text in of_table(page)[2**12]]
    assert speedups == sorted(speedups, reverse=True), "the best first, whatever is shown"


def test_all_and_none(page, h200):
    page.open(h200)
    page.js("document.getElementById('variants-none').click()")
    assert page.pressed() == [] and page.text("#plot") == "Choose a variant."
    page.js("document.getElementById('variants-all').click()")
    assert len(page.pressed()) == page.js("return document.querySelectorAll('#variants button').length") > 9


def test_a_busy_host_is_told_where_its_times_are_shown(page, h200):
    page.open(h200)
    busy = lambda: [line for line in page.texts("#banners p") if line.startswith("No core was quiet")]  # noqa: E731
    assert busy() == []
    page.choose("timing_mode", "end_to_end")
    assert len(busy()) == 1
    page.choose("timing_mode", "device")
    assert busy() == []


def test_the_back_button_returns_to_the_view_before(page, h200):
    page.open(h200)
    for view in ("claims", "conditions"):
        page.driver.find_element("id", f"view-{view}").click()
    for view in ("claims", "chart"):
        page.driver.back()  # a script that goes back may be cut off by that
        page.wait(f"!document.getElementById('{view}-view').hidden")
        assert page.texts("[aria-current=page]") == [view.capitalize()]


def test_how_it_was_measured_is_as_the_runs_recorded_it(page, h200):
    runs = json.loads((RESULTS / "nvidia-h200" / "machine.json").read_text())["runs"]
    page.open(h200, "#view=conditions")
    facts = machines(page)
    assert {word.split(" ")[0] for word in facts["revisions"].split(", ")} == {run["git_revision"][:7] for run in runs}
    assert {word.split(" ")[0] for word in facts["cards"].split(", ")} == {run["machine_id"] for run in runs}
    assert facts["min samples"].startswith("7") and "revision" not in facts


def test_tables_have_captions_and_scopes(page, h200):
    for view in ("claims", "conditions"):
        page.open(h200, f"#view={view}")
        assert page.js("return [...document.querySelectorAll('table')].every(t => t.caption.textContent)")
        assert page.js("return [...document.querySelectorAll('th')].every(t => t.scope === 'col')")


# Whether no line's name is cut at the chart's edge.
INSIDE = ("const edge = document.querySelector('#plot svg').getBoundingClientRect().right;"
          "return [...document.querySelectorAll('#plot svg > text')].every(t => t.getBoundingClientRect().right <= edge)")


TIP = "return document.querySelector('#plot [aria-label=tip] > g').getBoundingClientRect().toJSON()"


def on_a_phone(page, path, fragment=""):
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True})
    return page.open(path, fragment)


def test_a_phone_names_lines_shows_claims_as_cards_and_whole_tips(page, h200):
    try:
        on_a_phone(page, h200)
        named = page.texts("#names li")
        assert len(named) == len(page.pressed()) > 3 and not page.texts("#plot svg > text")
        marks = page.js("return [...document.querySelectorAll('#names li path:last-child')].map(p => p.getAttribute('d'))")
        assert len(set(marks)) == len(marks), "told apart without colour"
        for number in range(0, page.points(), 5):
            page.hover(number)
            tip = page.js(TIP)
            assert 0 <= tip["left"] and tip["right"] <= 390, "within the window"
        on_a_phone(page, h200, "#view=claims")
        assert page.js("return getComputedStyle(document.querySelector('.cards td')).display") == "block"
        assert page.js("return getComputedStyle(document.querySelector('.cards td'), '::before').content") == '"claim"'
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_more_lines_than_have_room_for_names_are_named_below(page, h200):
    page.open(h200)
    assert not page.texts("#names li"), "few stand beside their lines"
    page.open(h200, "#experiment=levels")
    page.js("document.getElementById('variants-all').click()")
    assert len(page.texts("#names li")) == len(page.pressed()) > 24
    assert page.js("return [...document.querySelectorAll('#names li')].every(line => line.querySelector('svg'))")


def test_the_tip_leaves_the_chart_visible(page, h200):
    page.open(h200)
    page.hover(0)
    tip, (width, height) = page.js(TIP), page.js("const p = document.getElementById('plot'); return [p.clientWidth, p.clientHeight]")
    assert tip["width"] * tip["height"] / (width * height) < 0.12


def test_print_shows_the_results_without_the_controls(page, h200):
    page.open(h200)
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        seen = page.js("return ['#controls', '#views', '#take', '#plot'].map(c => document.querySelector(c).checkVisibility())")
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert seen == [False, False, False, True]


def test_the_claims_of_each_folder_side_by_side(page, tmp_path):
    from report import page as report

    names, path = ["nvidia-h200", "nvidia-h100-80gb-hbm3"], tmp_path / "two.html"
    for name in names:
        (tmp_path / name).mkdir()
        for file in ("catalog.csv", "levels.csv", "machine.json", "verdicts.csv"):
            shutil.copy(RESULTS / name / file, tmp_path / name)
    path.write_text(report.make([tmp_path / name for name in names])[0])
    tables = [pd.read_csv(RESULTS / name / "verdicts.csv", keep_default_na=False) for name in names]
    verdicts = [t[t["role"] == "claim"].set_index("claim")["verdict"] for t in tables]
    page.open(path, "#view=claims")
    read_rows = ("return [...document.querySelectorAll('.cards > tbody > tr')].map(r => [r.children[0].textContent,"
                 "...[...r.querySelectorAll('strong')].map(s => s.textContent)])")
    assert page.js(read_rows) == [[claim, *(verdict_of[claim] for verdict_of in verdicts)] for claim in verdicts[0].index]
    page.choose("verdict", "differ")
    assert [line[0] for line in page.js(read_rows)] == [c for c in verdicts[0].index if verdicts[0][c] != verdicts[1][c]] != []
    page.open(path, "#experiment=levels")
    assert [t for t in page.texts("#plot text") if t.startswith("L2 is full")] == [
        "L2 is full: 60 MiB, nvidia-h200", "L2 is full: 50 MiB, nvidia-h100-80gb-hbm3"]
    assert page.console() == []


def contrast(ground, other):
    """As WCAG 2 counts it."""
    def light(color):
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in color)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(ground), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_is_legible(page, h200, dark):
    page.open(h200, dark=dark)
    page.js("document.getElementById('variants-all').click()")
    page.js("[...document.querySelectorAll('#variants [aria-pressed=true]')].slice(14).map(b => b.dataset.key).forEach(k =>"
            " [...document.querySelectorAll('#variants button')].find(b => b.dataset.key === k).click())")
    colors = page.js("const ground = getComputedStyle(document.body).backgroundColor;"
                     "return ['h1', '.hint', '#caption', 'label'].map(css => document.querySelector(css))"
                     ".map(e => [getComputedStyle(e).color, ground])")
    assert (sum(map(int, re.findall(r"\d+", colors[0][1]))) < 200) == dark
    colors += page.js("const ground = getComputedStyle(document.body).backgroundColor;"
                      "return [...document.querySelectorAll('#plot svg > text')].map(e => [getComputedStyle(e).fill, ground])")
    assert len(colors) > 8
    for color, ground in colors:
        assert contrast(*([int(v) for v in re.findall(r"\d+", c)[:3]] for c in (color, ground))) >= 4.5


def test_the_picture_of_the_readme_is_of_this_page(page, h200):
    """REDUCTIO_REWRITE=1 takes it anew."""
    picture = SOURCE / "docs" / "report.png"
    from PIL import Image

    page.open(h200)
    page.hover(25)
    taken = Image.open(io.BytesIO(page.driver.get_screenshot_as_png())).convert("RGB").crop((0, 0, 1280, 760))
    image = taken.quantize(128, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    if os.environ.get("REDUCTIO_REWRITE") == "1":
        image.save(picture, optimize=True)
    with Image.open(picture) as committed:
        assert committed.size == image.size and picture.stat().st_size <= 120_000
