"""Playing, stepping, scrubbing and comparing with the mouse; moving the sliders."""

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser import CELLS, Page, at_rest, browser, cells, element, run, step_forward, wait_for
from support import rondo, write_page


class Playing(Page):
    def test_plays_to_the_end_and_pauses(self):
        self.open(write_page("playing", "all_reduce", "-a", "ring", "-n", 4))
        Select(element("speed")).select_by_visible_text("¼")  # a slow machine comes to the pause in time
        element("play").click()
        self.assertEqual(element("play").get_attribute("aria-label"), "Pause")
        wait_for(lambda: run("return app.player.time") > 0, "the clock to move")
        element("play").click()
        self.assertEqual(element("play").get_attribute("aria-label"), "Play")
        self.assertLess(run("return app.player.time"), run("return app.player.end"))
        Select(element("speed")).select_by_visible_text("4")
        element("play").click()
        wait_for(at_rest, "the end")
        self.assertEqual(run("return app.player.time"), run("return app.player.end"))
        self.assertIn("End.", element("now").text)

    def test_every_step_back_undoes_a_step_forward(self):
        for algorithm in ("ring", "double_tree"):
            self.open(write_page(f"steps_{algorithm}", "all_reduce", "-a", algorithm, "-n", 4))
            Select(element("speed")).select_by_visible_text("4")
            browser.execute_script("document.activeElement.blur()")
            seen = [cells()]
            for _ in range(run("return app.player.stops.length")):
                step_forward()
                seen.append(cells())
            self.assertEqual(run("return app.player.time"), run("return app.player.end"))
            self.assertGreaterEqual(len(set(seen)), 6)
            for expected in reversed(seen[:-1]):
                element("back").click()
                self.assertEqual(cells(), expected)
            self.assertEqual(run("return app.player.time"), 0)

    def test_scrubs_forth_and_back(self):
        self.open(write_page("scrub", "all_reduce", "-a", "ring", "-n", 5))
        scrub = element("scrub")
        width = scrub.size["width"]

        def drag(begin, end):
            """Drags from one part of the slider's width to another. Its thumb is 16 pixels wide."""
            at = [int((part - 0.5) * (width - 16)) for part in (begin, end)]
            hold = ActionChains(browser).move_to_element_with_offset(scrub, at[0], 0).click_and_hold()
            hold.move_by_offset(at[1] - at[0], 0).release().perform()
            return run("return app.player.time / app.player.end")

        self.assertAlmostEqual(drag(0, 0.8), 0.8, delta=0.05)
        here = cells()
        self.assertAlmostEqual(drag(0.8, 0.3), 0.3, delta=0.05)
        self.assertNotEqual(cells(), here)
        self.assertEqual(cells(), run(f"const at = app.player.time; app.player.seek(0); "
                                      f"app.player.seek(at); return {CELLS}"))
        axis = browser.find_element(By.CSS_SELECTOR, ".axis canvas")
        ActionChains(browser).move_to_element(axis).click().perform()
        self.assertAlmostEqual(run("return app.player.time / app.player.end"), 0.5, delta=0.06)

    def test_without_motion_steps_jump(self):
        self.emulate(prefers_reduced_motion="reduce")
        self.open(write_page("still", "all_reduce", "-a", "ring", "-n", 4))
        self.assertEqual(run("app.player.forward(); return [app.player.playing, app.player.time]"),
                         [False, run("return app.player.stops[0]")])


class Comparing(Page):
    def test_two_on_one_clock(self):
        self.open(write_page("compare", "all_reduce", "-a", "ring", "-n", 8, "--compare", "double_tree"))
        titles = [each.text for each in browser.find_elements(By.CSS_SELECTOR, ".stage h2")]
        self.assertEqual(titles, ["All-reduce: ring", "All-reduce: double tree"])
        Select(element("pace")).select_by_visible_text("one clock")
        ends = run("return app.replays.map((replay) => replay.end)")
        self.assertAlmostEqual(run("return app.player.end"), max(ends))
        run("app.player.seek(Math.min(...app.replays.map((replay) => replay.end)))")
        done = run("return app.replays.map((replay) => replay.end <= replay.time)")
        self.assertEqual(sorted(done), [False, True])
        Select(element("second")).select_by_visible_text("chain")
        self.assertEqual(run("return app.shown.map((index) => app.schedules[index].algorithm)"),
                         ["ring", "chain"])
        Select(element("second")).select_by_visible_text("nothing")
        self.assertFalse(browser.find_elements(By.CSS_SELECTOR, ".stage")[1].is_displayed())

    def test_the_crossover_is_where_rondo_simulate_has_it(self):
        self.open(write_page("crossing", "all_reduce", "-a", "ring", "-n", 16, "--compare",
                             "binomial_tree"))
        element("alpha").send_keys(Keys.ARROW_RIGHT)
        words = browser.find_element(By.CSS_SELECTOR, ".crossing")
        wait_for(lambda: "They change places" in words.text, "the chart")
        self.assertIn("binomial tree wins, above it ring", words.text)
        costs, crossing = run("""
          const curves = app.shown.map((index) =>
            rondoPage.timeOverSize(app.schedules[index], app.costs, 8, 2 ** 30));
          let bytes = 8;
          while (curves[1](bytes) < curves[0](bytes)) bytes *= 1.001;
          return [app.costs, bytes];""")
        for factor, faster in ((0.98, "binomial_tree"), (1.02, "ring")):
            times = {}
            for line in rondo("simulate", "all_reduce", "-n", 16, "--bytes", crossing * factor, "--alpha",
                              costs["alpha"], "--beta", costs["beta"], "--gamma",
                              costs["gamma"])[1].splitlines()[2:]:
                times[line.split()[0]] = float(line.split()[1])
            self.assertEqual(min(("ring", "binomial_tree"), key=times.get), faster, times)

    def test_sliders_change_the_prediction(self):
        self.open(write_page("sliders", "all_reduce", "-a", "ring", "-n", 4))
        for name in ("size", "alpha", "bandwidth", "reducing"):
            before = run("return app.player.end")
            element(name).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
            wait_for(lambda: run("return app.player.end") != before, f"the slider {name}")
