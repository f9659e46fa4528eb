#!/usr/bin/env python3
"""Opens pages in a headless Chromium and uses them as readers do: plays, steps, scrubs, compares, by
mouse and by keyboard alone. What the page shows at the end is compared with rondo's explainer.

    browser_test.py RONDO FOLDER [TEST...]
"""

import sys
import unittest

from browser import browser
from counting import Counting
from editing import Editing
from every_algorithm import EveryAlgorithm
from following import Chips, Following, RoundByRound, Worlds
from guessing import Guessing
from on_hosts import OnHosts
from playing import Comparing, Playing
from reading import Learning, WithoutAMouse
from real_run import RealRun
from summing import Summing
from telling import RunningForReal, Telling

__all__ = ["Chips", "Comparing", "Counting", "Editing", "EveryAlgorithm", "Following", "Guessing",
           "Learning", "OnHosts", "Playing", "RealRun", "RoundByRound", "RunningForReal", "Summing",
           "Telling", "WithoutAMouse", "Worlds"]

if __name__ == "__main__":
    try:
        unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
    finally:
        browser.quit()
