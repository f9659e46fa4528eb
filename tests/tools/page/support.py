"""What the tests of pages share: running rondo, and a headless Chromium with a page in it."""

import pathlib
import shutil
import subprocess
import sys
import unittest

root = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(root / "tests"))

from running import Running  # noqa: E402,F401

NO_BROWSER = 77  # what ctest counts as skipped
MOST_PAGE_BYTES = 400_000

rondo_program = sys.argv[1]
folder = pathlib.Path(sys.argv[2])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)


def rondo(*arguments, text=None):
    """Runs rondo; status, standard output and error."""
    run = subprocess.run([rondo_program, *map(str, arguments)], input=text, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    return run.returncode, run.stdout, run.stderr


class Refusing(unittest.TestCase):
    def refused(self, words, *arguments, text=None):
        """Checks that rondo explain refuses this with these words."""
        status, output, errors = rondo("explain", *arguments, text=text)
        self.assertEqual(status, 2)
        self.assertEqual(output, "")
        for word in words:
            self.assertIn(word, errors)


def algorithms():
    """{collective: [algorithm, ...]} as `rondo list` has them."""
    table = {}
    collective = None
    for line in rondo("list")[1].splitlines()[1:]:
        if not line.startswith("  "):
            break  # other tables follow
        if line.startswith("    ") and " = " not in line:
            table[collective].append(line.split()[0])
        elif " " not in line.strip():
            collective = line.strip()
            table[collective] = []
    return table


def write_page(name, *arguments):
    """The address of the page that `rondo explain ARGUMENTS --html` wrote."""
    path = folder / f"{name}.html"
    status, _, errors = rondo("explain", *arguments, "--html", path)
    assert status == 0, errors
    assert path.stat().st_size < MOST_PAGE_BYTES, f"{path}: {path.stat().st_size} bytes"
    return path.as_uri()


def browser_or_skip():
    """A headless Chromium; says so and leaves with NO_BROWSER where there is none."""
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in programs.items() if path is None]
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        missing.append("python3-selenium")
    if missing:
        print(f"SKIPPED: the pages were tested in NO browser, since this machine lacks "
              f"{', '.join(missing)}. Debian has them (tools/setup installs them); Ubuntu has "
              f"Chromium as a snap only.")
        sys.exit(NO_BROWSER)
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--window-size=1280,1400"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(programs["chromedriver"]))
    browser.set_script_timeout(300)  # a slow machine plays 64 ranks slowly
    return browser
