"""The browser that the tests of pages share, and what they do with it."""

import unittest

from support import browser_or_skip

browser = browser_or_skip()  # ends the program where there is no browser

# pylint: disable=wrong-import-position
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402


def run(script, *arguments):
    """Runs a function body in the page; `app` is its state."""
    return browser.execute_script("const app = window.rondoPage.app; " + script, *arguments)


def element(name):
    return browser.find_element(By.ID, name)


def wait_for(condition, what):
    WebDriverWait(browser, 120, 0.05).until(lambda _: condition(), what)


def press(*keys):
    ActionChains(browser).send_keys(*keys).perform()


# What the stage shows now, as one string.
CELLS = """JSON.stringify(app.replays.map((replay) => replay.cells.map(({best, all}) =>
  best === null ? '-' : `${best.chunk}:${best.set}/${all}`)))"""


def cells():
    return run(f"return {CELLS}")


def at_rest():
    return run("return !app.player.playing")


def step_forward():
    before = run("return app.player.time")
    press(Keys.ARROW_RIGHT)
    wait_for(lambda: at_rest() and run("return app.player.time") > before, "a step forward")


class Page(unittest.TestCase):
    """Every test ends with a console without a word in it."""

    def open(self, address):
        browser.get(address)
        self.assertEqual(run("return document.documentElement.dataset.ready"), "true")

    def resize(self, width, height):
        """The window, until the test ends."""
        size = browser.get_window_size()
        self.addCleanup(browser.set_window_size, size["width"], size["height"])
        browser.set_window_size(width, height)

    def emulate(self, media="", **features):
        """Another medium or a reader's wishes, prefers_reduced_motion="reduce", until the test ends."""
        wishes = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.addCleanup(browser.execute_cdp_cmd, "Emulation.setEmulatedMedia", {"media": "", "features": []})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": wishes})

    def tearDown(self):
        self.assertEqual(browser.get_log("browser"), [])
