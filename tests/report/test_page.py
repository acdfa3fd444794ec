"""The page in a real browser: what it draws and says is what the CSV holds, whatever is chosen; and it asks nobody."""

import re

import pandas as pd
import pytest
from conftest import RESULTS


@pytest.fixture(scope="module")
def rows():
    table = pd.read_csv(RESULTS / "nvidia-h200" / "comparison.csv.gz", low_memory=False)
    return table[(table["status"] == "ok") & (table["element_type"] == "f32") & (table["operation"] == "sum") &
                 (table["timing_mode"] == "device")]


def row_of(rows, key, n):
    variant, _, settings = key.partition(":")
    found = rows[(rows["variant"] == variant) & (rows["settings"].fillna("") == settings) & (rows["n"] == n)]
    assert len(found) == 1
    return found.iloc[0]


def numbers(text):
    return [float(part.replace(",", "")) for part in re.findall(r"[\d.,]*\d", text)]


def size_of(text):
    return 2 ** int(text[2:]) if text.startswith("2^") else int(text.replace(",", ""))


def test_the_first_view_is_drawn_and_nothing_is_asked_for(page, h200):
    page.open(h200)
    assert page.text("#caption").startswith("comparison: sum of f32, device time, L2 cold and dirty")
    assert page.text("#title") == "reductio: NVIDIA H200"
    pressed = page.pressed()
    assert {"tuned/sum", "levels/global-stride"} <= {key.partition(":")[0] for key in pressed}
    assert page.js("return document.querySelectorAll('#plot svg path').length") > len(pressed)
    assert page.console() == [] and page.requests() == []


def test_a_request_and_an_error_would_be_seen(page, h200):
    page.open(h200)
    page.js("new Image().src = 'http://reductio.invalid/x.png'")
    assert any("Content Security Policy" in line for line in page.console())


@pytest.mark.parametrize("value, name, columns, scale", [
    ("time", "time", ("time_median_s", "time_ci_low_s", "time_ci_high_s"), 1e6),
    ("speedup", "speedup over cub/sum", ("speedup", "speedup_ci_low", "speedup_ci_high"), 1)])
def test_hovering_tells_the_numbers_of_the_csv(page, h200, rows, value, name, columns, scale):
    page.open(h200, f"#value={value}")
    shown = set()
    for _ in range(len(page.pressed())):
        page.key("ArrowRight")
        facts, label = page.facts("#tip"), page.text("#tip strong")
        shown.add(label)
        key = next(k for k in page.pressed() if label.partition(" ")[0] == k.partition(":")[0])
        of = row_of(rows, key, size_of(facts["n"]))
        told = numbers(facts[name])
        assert told == pytest.approx([scale * of[c] for c in columns], rel=6e-3), facts
        assert facts["samples"] == f"{of['n_samples']:.0f}"
        page.key("ArrowUp")
    assert len(shown) > 1, "the keys reach several variants"
    assert facts["title"] and page.facts("#point")["strategy"]


def test_the_pointer_shows_the_nearest_point(page, h200):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    page.open(h200)
    page.key("ArrowRight", "ArrowRight")
    facts, at = page.facts("#tip"), page.js("const b = document.querySelector('#plot .ring').getBoundingClientRect();"
                                            "return [b.x + b.width / 2, b.y + b.height / 2]")
    page.key("Escape")
    assert not page.driver.find_element(By.ID, "tip").is_displayed()
    moved = ActionChains(page.driver)
    moved.w3c_actions.pointer_action.move_to_location(round(at[0]) + 3, round(at[1]))
    moved.perform()
    assert page.driver.find_element(By.ID, "tip").is_displayed() and page.facts("#tip") == facts
