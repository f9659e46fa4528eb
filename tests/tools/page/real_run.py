"""The page of a real run: four ranks, traced here and now, played as they went."""

import pathlib

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser import Page, at_rest, browser, element, press, run, step_forward, wait_for
from support import MOST_PAGE_BYTES, Running, folder, rondo, rondo_program


def real_page(name, *arguments):
    """The address of the page of the slowest call of a run of all_reduce_perf."""
    programs = pathlib.Path(rondo_program).parent
    trace = folder / name
    Running(programs / "rondorun", "-n", "4", programs / "all_reduce_perf", "-b", "1M", "-e", "1M", "-n", "2",
            "-w", "1", *arguments, RONDO_TRACE=str(trace)).require_success()
    rows = [line.split() for line in rondo("trace", trace)[1].splitlines() if "all_reduce  1 MiB" in line]
    path = folder / f"{name}.html"
    status, _, errors = rondo("trace", trace, "--call", rows[0][-3], "--html", path)  # the slowest's number
    assert status == 0, errors
    assert path.stat().st_size < MOST_PAGE_BYTES
    return path.as_uri()


CONSISTENT = """
  const [replay] = app.replays;
  const {schedule, play} = replay;
  const wrong = [];
  for (const message of replay.messages)
    if (!(message.begin >= 0 && message.end > message.begin && message.settled >= message.end &&
          message.settled <= replay.end)) wrong.push(message);
  replay.seek(replay.end);
  const same = rondoPage.outputsDigest(schedule, (rank, chunk) => replay.outputAt(rank, chunk)) ===
    schedule.outputs;
  return {messages: replay.messages.length, wrong: wrong.length, same, real: Boolean(schedule.real),
    findings: play.findings.length};"""


class RealRun(Page):
    def check(self, messages):
        seen = run(CONSISTENT)
        self.assertEqual(seen, {"messages": messages, "wrong": 0, "same": True, "real": True, "findings": 0})
        run("app.player.seek(0)")

    def test_a_ring_plays_as_it_went(self):
        self.open(real_page("real_ring", "--transport", "shm", "--algorithm", "ring"))
        self.check(24)
        title = browser.find_element(By.CSS_SELECTOR, ".stage h2").text
        self.assertEqual(title, "All-reduce: ring, as it ran")
        # Columns are as wide as the longest time, which a busy machine makes longer.
        words = " ".join(browser.find_element(By.CSS_SELECTOR, ".real-words").text.split())
        for each in ("Slowest link: ", "Slowest round: ", "rank came us"):
            self.assertIn(each, words)
        self.assertFalse(browser.find_element(By.CSS_SELECTOR, ".model").is_displayed())
        Select(element("speed")).select_by_visible_text("4")
        browser.execute_script("document.activeElement.blur()")
        step_forward()
        press(Keys.ARROW_LEFT)
        self.assertEqual(run("return app.player.time"), 0)
        press(Keys.END)
        self.assertIn("End.", element("now").text)
        press(Keys.HOME)
        Select(element("speed")).select_by_visible_text("¼")  # a slow machine comes to the pause in time
        browser.execute_script("document.activeElement.blur()")
        press(Keys.SPACE)
        wait_for(lambda: run("return app.player.time") > 0, "the clock to move")
        press(Keys.SPACE)
        self.assertTrue(at_rest())

    def test_beside_its_model_on_one_clock(self):
        self.open(real_page("real_beside", "--transport", "tcp", "--algorithm", "ring"))
        self.check(24)
        Select(element("second")).select_by_visible_text("ring")
        titles = [each.text for each in browser.find_elements(By.CSS_SELECTOR, ".stage h2")]
        self.assertEqual(titles, ["All-reduce: ring, as it ran", "All-reduce: ring"])
        self.assertTrue(browser.find_element(By.CSS_SELECTOR, ".model").is_displayed())
        before = run("return app.replays.map((replay) => replay.end)")
        element("alpha").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        wait_for(lambda: run("return app.replays[1].end") != before[1], "the model")
        self.assertEqual(run("return app.replays[0].end"), before[0])

    def test_the_direct_way_plays(self):
        self.open(real_page("real_direct", "--algorithm", "direct"))
        self.assertGreater(run(CONSISTENT)["messages"], 11)
        self.check(run("return app.replays[0].messages.length"))
