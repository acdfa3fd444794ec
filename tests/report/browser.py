"""A headless browser, and what a reader does with a page there."""

import json
import os
import shutil
import time

from project import SOURCE

RESULTS = SOURCE / "experiments" / "results"
HANGS_S = 60  # so long takes only what hangs


class NoBrowser(Exception):
    """Why there is none."""


def start(downloads):
    """Chromium, driven by Selenium; it saves files into a folder."""
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ModuleNotFoundError:
        raise NoBrowser("no selenium here: pip install -r requirements.txt")
    chromium = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None)
    chromedriver = shutil.which("chromedriver")
    if not chromium or not chromedriver:
        raise NoBrowser("no chromium and chromedriver here; Debian's packages are chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--disable-gpu", "--window-size=1280,1000", "--hide-scrollbars",
                     *(["--no-sandbox"] if os.geteuid() == 0 else [])):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads),
                                              "profile.default_content_setting_values.automatic_downloads": 1})
    browser = webdriver.Chrome(options=options, service=Service(chromedriver))
    browser.downloads = downloads
    return browser


class Page:
    """A page in the browser, and what a reader does there."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, fragment="", dark=False):
        media = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        self.driver.get("about:blank")  # a new fragment alone would load nothing
        self.driver.execute_cdp_cmd("Page.resetNavigationHistory", {})  # of 50 entries Chromium drops those that no hand made
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get(path.as_uri() + fragment)
        self.wait("document.documentElement.dataset.ready === 'yes'")
        return self

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition):
        self.until(lambda: self.js(f"return Boolean({condition})"), condition)

    def until(self, holds, condition):
        end = time.time() + HANGS_S
        while not holds():
            if time.time() > end:
                raise AssertionError(f"never: {condition}; the console: {self.console()}")
            time.sleep(0.02)

    def text(self, css):
        return self.js("return document.querySelector(arguments[0]).innerText", css)

    def texts(self, css):
        return self.js("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", css)

    def choose(self, name, word):
        """As a reader does: the select's value, and the event that says so."""
        self.js("const s = document.querySelector(`select[name=${arguments[0]}]`); s.value = arguments[1];"
                "s.dispatchEvent(new Event('change', {bubbles: true}))", name, word)

    def options(self, name):
        return self.js("return [...document.querySelectorAll(`select[name=${arguments[0]}] option`)].map(o => o.value)",
                       name)

    def variant(self, key, shift=False):
        self.js("[...document.querySelectorAll('#variants button')].find(b => b.dataset.key === arguments[0])"
                ".dispatchEvent(new MouseEvent('click', {bubbles: true, shiftKey: arguments[1]}))", key, shift)

    def pressed(self):
        return self.js("return [...document.querySelectorAll('#variants [aria-pressed=true]')].map(b => b.dataset.key)")

    def points(self):
        """How many points the chart has."""
        return self.js("return document.querySelectorAll('#plot svg > [aria-label=dot]:not(:empty) > *').length")

    def hover(self, number, click=False):
        """Moves the pointer to the chart's point of this number, in the order drawn, and perhaps clicks it."""
        self.js("const svg = document.querySelector('#plot svg');"
                "const box = svg.querySelectorAll('[aria-label=dot] > *')[arguments[0]].getBoundingClientRect();"
                "const at = {clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true};"
                "svg.dispatchEvent(new PointerEvent('pointermove', {...at, pointerType: 'mouse'}));"
                "if (arguments[1]) svg.dispatchEvent(new MouseEvent('click', at))", number, click)

    def tip(self):
        """What stands beside the pointer: the variant's name, and the rest as a dictionary."""
        lines = self.js("return [...document.querySelectorAll('#plot [aria-label=tip] tspan')]"
                        ".map(t => t.textContent.replace('\\u200b', ''))")
        return lines[0], dict(line.split(": ", 1) for line in lines[1:])

    def facts(self, css):
        """A list of definitions as a dictionary."""
        return self.js("const facts = {}; for (const t of document.querySelectorAll(`${arguments[0]} dt`))"
                       "facts[t.textContent] = t.nextElementSibling.textContent; return facts", css)

    def console(self):
        """What the console was told, but for what a test logs itself."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Addresses of whatever the page asked for, itself left out."""
        log = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [m["params"]["request"]["url"] for m in log if m["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith(("file:", "about:", "blob:"))]
