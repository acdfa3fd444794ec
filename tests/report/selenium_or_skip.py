"""Selenium's parts, where it is installed."""

import pytest

pytest.importorskip("selenium", reason="no selenium here: pip install -r requirements.txt")

from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402, F401
