"""Lessons as scenes: each paragraph is a button that shows what it speaks of; the last lesson's commands."""

import os
import pathlib
import re
import shlex
import subprocess

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import Page, at_rest, browser, element, press, run, wait_for
from support import folder, rondo, rondo_program

# What is wrong with what the page shows for a scene whose attributes are the first argument.
SHOWN = """
  const scene = arguments[0];
  const wrong = [];
  const check = (what, good) => { if (!good) wrong.push(what); };
  const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(a, b, 1e-9);
  const [replay] = app.replays;
  const {schedule} = replay;
  const at = scene.at ?? 'start';
  const label = ({phase, round}) => `${schedule.phases[phase] ?? ''} round ${round + 1}`.trim();
  if (at === 'start') check('the start', app.player.time === 0 && replay.time === 0);
  else if (at === 'end')
    check('the end', app.player.time === app.player.end && near(replay.time, replay.end));
  else {
    const settled = replay.messages.filter((each) => label(each) === at).map((each) => each.settled);
    const written = replay.writes.filter((each) => each.reduced && label(each) === at)
      .map((each) => each.time);
    check(`no messages in ${at}`, settled.length > 0);
    check(`${at} is over just now`, near(replay.time, Math.max(...settled, ...written)));
  }
  const names = [scene.first, scene.second].filter((name) => name).map((name) => name.split(':').at(-1));
  const shown = app.replays.map((each) => each.schedule.algorithm);
  if (!scene.example) check('the algorithms', names.every((name) => shown.includes(name)) &&
    shown.length === (scene.second ? 2 : 1));
  check('the ranks', !scene.ranks || schedule.ranks === Number(scene.ranks));
  check('the size', app.costs.bytes === (scene.size ? 2 ** Number(scene.size) : app.data.bytes));
  check('the costs', app.costs.alpha === app.data.alpha && app.costs.beta === app.data.beta);
  check('the pace', shown.length < 2 || app.pace.name === (scene.pace ?? 'rounds'));
  const chunk = document.querySelector('[name=follow]:checked').parentElement.textContent.trim();
  check('the spotlight', chunk === (scene.chunk ?? 'all') && (app.view.follow === null) === !scene.chunk);
  check('the cut', app.view.whole === (scene.look === 'whole'));
  const panels = (scene.show ?? '').split(' ');
  for (const panel of document.querySelectorAll('[data-panel]'))
    check(`panel ${panel.dataset.panel}`,
      (panel.getClientRects().length > 0) === panels.includes(panel.dataset.panel));
  for (const panel of panels.filter((name) => name))
    check(`no panel ${panel}`, document.querySelector(`[data-panel=${panel}]`));
  return wrong;"""

LESSONS = "reduce_scatter", "all_gather", "one_rank", "hierarchical"


def scenes():
    return browser.find_elements(By.CSS_SELECTOR, ".scenes button")


class Telling(Page):
    @classmethod
    def setUpClass(cls):
        cls.site = folder / "told"
        assert rondo("learn", "--output", cls.site)[0] == 0

    def open_lesson(self, name, motion=False):
        if not motion:
            self.emulate(prefers_reduced_motion="reduce")
        self.open((self.site / f"{name}.html").as_uri())

    def show(self, number):
        button = scenes()[number]
        run("arguments[0].click()", button)
        wait_for(at_rest, f"scene {number}")
        return run("return {...arguments[0].dataset}", button)

    def test_scenes_show_what_they_say(self):
        for path in sorted(self.site.glob("*.html")):
            if path.stem == "index":
                continue
            self.open_lesson(path.stem)
            numbers = list(range(len(scenes())))
            self.assertGreaterEqual(len(numbers), 5)
            for number in [*numbers, *reversed(numbers)]:  # in any order the same
                scene = self.show(number)
                self.assertEqual(run(SHOWN, scene), [], f"{path.stem}, scene {number}: {scene}")
                current = [each.get_attribute("aria-current") for each in scenes()]
                self.assertEqual((current.index("step"), current.count("step")), (number, 1))
                self.assertNotIn("DIFFERS", element("agreement").text)

    def test_the_check_of_scenes_can_fail(self):
        self.open_lesson("reduce_scatter")
        scene = self.show(4)
        self.assertEqual(run(SHOWN, scene), [])
        for mutation, found in (({"at": "reduce-scatter round 1"}, "reduce-scatter round 1 is over just now"),
                                ({"at": "end"}, "the end"), ({"chunk": "a"}, "the spotlight"),
                                ({"show": "bytes"}, "panel bytes"), ({"second": "ring"}, "the algorithms"),
                                ({"ranks": "8"}, "the ranks"), ({"look": "whole"}, "the cut")):
            self.assertIn(found, run(SHOWN, {**scene, **mutation}))
        self.assertIn("which is no round", run("""
          try { rondoPage.controls.scenes.moment('reduce-scatter round 9'); }
          catch (error) { return error.message; }"""))

    def test_a_scene_undoes_what_the_reader_changed(self):
        self.open_lesson("crossover")
        self.show(5)
        for name in ("size", "alpha", "bandwidth"):
            element(name).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        browser.find_element(By.CSS_SELECTOR, "[name=follow][value='2']").click()
        self.assertEqual(run(SHOWN, {}), ["the start", "the algorithms", "the size", "the costs", "the pace",
                                          "the spotlight", "panel chart"])
        self.assertEqual(run(SHOWN, self.show(5)), [])

    def test_scenes_play_what_leads_to_their_moment(self):
        self.open_lesson("reduce_scatter", motion=True)
        run("app.player.speed = 4")
        scenes()[4].click()  # from the end of the first round to that of the second
        self.assertTrue(run("return app.player.playing"))
        rounds = run("return app.replays[0].rounds.map(({end}) => end)")
        self.assertGreaterEqual(run("return app.player.time"), rounds[0])
        wait_for(at_rest, "the moment")
        self.assertEqual(run("return app.player.time"), rounds[1])

    def test_every_addition_in_the_text_happens_on_the_stage(self):
        additions = 0
        for name in LESSONS:
            self.open_lesson(name)
            for number, button in enumerate(scenes()):
                text = button.get_attribute("textContent")
                told = re.findall(r"(\d+) \+ (\d+) = (\d+)", " ".join(text.split()))
                if not told:
                    continue
                self.show(number)
                for left, right, total in told:
                    self.assertEqual(int(left) + int(right), int(total))
                    self.assertIn(f"{left} + {right} = {total}", element("now").text, f"{name} {number}")
                    additions += 1
        self.assertGreater(additions, 5)

    def test_sums_in_the_text_are_those_of_the_stage(self):
        for name, number in (("one_rank", 2), ("all_gather", 3), ("hierarchical", 6)):
            self.open_lesson(name)
            text = scenes()[number].get_attribute("textContent")
            told = [int(each) for each in re.findall(r"\b\d\d\b", text)]
            self.show(number)
            held = run("return app.replays[0].cells.slice(0, app.replays[0].schedule.chunks)"
                       ".flatMap(({best}) => best.numbers)")
            self.assertEqual(told, held)

    def test_panels_of_a_still_scene_are_in_view(self):
        visible = """
          const panels = [...document.querySelectorAll('[data-panel]:not(.away)')];
          const panel = panels.find((each) => !each.closest('.bar')).getBoundingClientRect();
          return [panel.top + Math.min(80, panel.height) <= innerHeight, panel.bottom > 0];"""
        for width, height in ((1366, 768), (420, 800)):
            self.resize(width, height)
            for name, number in (("one_rank", 4), ("reduce_scatter", 2), ("reduce_scatter", 7),
                                 ("crossover", 5), ("write_your_own", 6)):
                self.open_lesson(name)
                self.show(number)
                self.assertEqual(run(visible), [True, True], f"{name} {number}")
                run("scrollTo(0, 0)")
                self.assertIn(False, run(visible), f"{name} {number}: in view without being brought there")

    def test_keys_walk_through_the_scenes(self):
        self.open_lesson("tree")
        current = "return rondoPage.controls.scenes.current"
        browser.execute_script("document.activeElement.blur()")
        press("n", "n", "p")
        self.assertEqual(run(current), 1)
        self.assertTrue(run("return document.activeElement === document.querySelectorAll('.scene')[1]"))
        press(Keys.TAB, Keys.ENTER)
        self.assertEqual(run(current), 2)
        press(*"p" * 5)
        self.assertEqual(run(current), 0)

    def test_all_panels_can_be_shown(self):
        self.open_lesson("tree")
        self.assertFalse(browser.find_element(By.CSS_SELECTOR, ".model").is_displayed())
        element("all-panels").click()
        for panel in ("choices", "ranks", "clock", "rank", "bytes", "chart", "quiz", "rounds", "editor"):
            shown = browser.find_element(By.CSS_SELECTOR, f"[data-panel={panel}]")
            self.assertTrue(shown.is_displayed(), panel)
        self.assertGreater(run("return app.axes[0].width"), 200)  # drawn in the room that it now has


class RunningForReal(Page):
    """What the last lesson says to type, typed."""

    def type_commands(self, text):
        """Saves a text by the lesson's button, and types the commands. Their statuses and outputs."""
        site, saved = folder / "told", folder / "saved"
        saved.mkdir(exist_ok=True)
        (saved / "mine.txt").unlink(missing_ok=True)
        rondo("learn", "--output", site)
        browser.execute_cdp_cmd("Browser.setDownloadBehavior",
                                {"behavior": "allow", "downloadPath": str(saved.resolve())})
        self.open((site / "write_your_own.html").as_uri())
        run("rondoPage.controls.scenes.show(6)")
        if text is not None:
            run("document.querySelector('#editor textarea').value = arguments[0]", text)
        browser.find_element(By.CSS_SELECTOR, ".save-text").click()
        wait_for((saved / "mine.txt").exists, "the saved file")
        self.assertEqual((saved / "mine.txt").read_text(),
                         run("return document.querySelector('#editor textarea').value"))
        programs = pathlib.Path(rondo_program).resolve().parent
        results = []
        for line in browser.find_element(By.CSS_SELECTOR, ".terminal").text.splitlines():
            words = [str(programs / word) if (programs / word).is_file() else word
                     for word in shlex.split(line)]
            done = subprocess.run(words, cwd=saved, text=True, capture_output=True, timeout=300, check=False,
                                  env={**os.environ, "RONDO_TIMEOUT": "200"})
            results.append((done.returncode, done.stdout + done.stderr))
        return results

    def test_the_commands_prove_predict_and_run(self):
        verify, simulate, measure = self.type_commands(None)
        self.assertEqual((verify[0], simulate[0], measure[0]), (0, 0, 0), measure[1])
        self.assertIn("4 ranks", verify[1])
        self.assertIn("ok", verify[1])
        self.assertRegex(simulate[1], r"\n  two_levels ")
        self.assertRegex(measure[1], r"two_levels over \w+ \(written in .*mine\.txt\)")
        rows = re.findall(r"^ +\d+ .*float +sum.*$", measure[1], re.MULTILINE)
        self.assertEqual(len(rows), 6)
        self.assertEqual({row.split()[8] for row in rows} | {row.split()[12] for row in rows}, {"0"})

    def test_a_wrong_schedule_is_refused(self):
        wrong = "collective all_reduce\nalgorithm mine\nranks 4\n" + "".join(
            f"rank {rank}\ncopy input[0] into output[0]\n" for rank in range(4))
        verify, _, measure = self.type_commands(wrong)
        self.assertEqual(verify[0], 1)
        self.assertNotEqual(measure[0], 0)
