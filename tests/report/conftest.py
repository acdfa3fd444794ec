"""Pages that are made once, and one headless browser for all tests of them."""

import browser
import pytest
from browser import RESULTS


@pytest.fixture(scope="session")
def h200(tmp_path_factory):
    """The page of the committed results, as ./reproduce makes it."""
    import report

    text, missing = report.make([RESULTS / "nvidia-h200"])
    assert missing == []
    path = tmp_path_factory.mktemp("h200") / "report.html"
    path.write_text(text)
    return path


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    try:
        started = browser.start(tmp_path_factory.mktemp("downloads"))
    except browser.NoBrowser as why:
        pytest.skip(str(why))
    yield started
    started.quit()


@pytest.fixture
def page(driver):
    return browser.Page(driver)
