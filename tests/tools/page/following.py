"""Following a chunk, chips that cover nothing, and other numbers of ranks."""

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser import Page, browser, element, run, step_forward
from support import write_page

# Chips that cover another chip or a box, or leave the stage, at many instants.
COVERED = """
  const wrong = [];
  const overlap = (a, b) => a.x < b.x + b.width - 1e-6 && b.x < a.x + a.width - 1e-6 &&
    a.y < b.y + b.height - 1e-6 && b.y < a.y + a.height - 1e-6;
  let seen = 0;
  for (let i = 0; i <= 70; ++i) {
    app.player.seek((app.player.end * i) / 70);
    app.stages.slice(0, app.replays.length).forEach((stage, number) => {
      arguments[0] && stage.chips.push(...stage.chips.slice(0, 1));
      const chips = stage.chips.filter(({text}) => text);
      seen += chips.length;
      const boxes = stage.boxes.centres.map((_, rank) => stage.box(rank));
      chips.forEach(({rect, text}, at) => {
        const where = `${app.replays[number].schedule.algorithm}: ${text} at ${i}`;
        if (boxes.some((box) => overlap(box, rect))) wrong.push(`${where} covers a box`);
        if (chips.some((other, j) => j > at && overlap(other.rect, rect)))
          wrong.push(`${where} covers a chip`);
        if (rect.x < 0 || rect.y < 0 || rect.x + rect.width > stage.width ||
            rect.y + rect.height > stage.height)
          wrong.push(`${where} leaves the stage`);
      });
    });
  }
  return {wrong, seen};"""

# The colours at the feet of the bars of chunks a and b at rank 0, where its own contribution is.
COLOUR = """
  const [stage] = app.stages;
  app.draw();
  const copy = Object.assign(document.createElement('canvas'), {width: stage.behind.width,
    height: stage.behind.height}).getContext('2d', {willReadFrequently: true});
  copy.drawImage(stage.behind, 0, 0);
  const box = stage.box(0);
  const pitch = Math.min((box.width - 18) / 4, 34);
  return [0, 1].map((chunk) => {
    const [x, y] = [box.x + (box.width - 4 * pitch) / 2 + (chunk + 0.5) * pitch, box.y + box.height - 21];
    return [...copy.getImageData(x * stage.scale, y * stage.scale, 1, 1).data].join();
  });"""


class Following(Page):
    def test_all_but_one_chunk_is_dimmed(self):
        self.open(write_page("follow", "all_reduce", "-a", "ring", "-n", 4))
        run("app.changeView({numbers: false})")
        before = run(COLOUR)
        all_chunks = browser.find_element(By.CSS_SELECTOR, "[name=follow]")
        all_chunks.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)  # by keyboard: a, then b
        self.assertEqual(run("return app.view.follow"), {"from": 0.25, "to": 0.5})
        after = run(COLOUR)
        self.assertNotEqual(after[0], before[0])
        self.assertEqual(after[1], before[1])
        for stop in range(6):
            run(f"app.player.seek(app.player.stops[{stop}])")
            shown = run("return app.stages[0].chips.map(({message}) => message.values[0].chunk)")
            self.assertEqual(shown, [1])
            self.assertEqual(element("now").text.count(" sent chunk"), 1)
        all_chunks.click()
        self.assertIsNone(run("return app.view.follow"))
        self.assertEqual(run(COLOUR)[1:], before[1:])

    def test_two_algorithms_show_the_same_part(self):
        self.open(write_page("follow_two", "all_reduce", "-a", "ring", "-n", 4, "--compare", "double_tree"))
        browser.find_element(By.CSS_SELECTOR, "[name=follow][value='2']").click()
        run("app.player.seek(1)")
        self.assertEqual(run("""return app.stages.map(({chips}) =>
          [...new Set(chips.map(({message}) => message.values[0].chunk))])"""), [[2], [1]])

    def test_a_world_of_many_chunks_has_as_many_choices(self):
        self.open(write_page("follow_many", "all_reduce", "-a", "ring", "-n", 64))
        self.assertEqual(len(browser.find_elements(By.CSS_SELECTOR, "[name=follow]")), 65)
        self.open(write_page("follow_one", "all_reduce", "-a", "one_shot", "-n", 4))
        self.assertFalse(element("follow").is_displayed())


class Chips(Page):
    def test_chips_cover_nothing_at_8_ranks(self):
        for hosts, width in ((["-n", 8], 1280), (["-n", 8], 500), (["--hosts", "2x4"], 1280)):
            self.resize(width, 1400)
            self.open(write_page("chips", "all_reduce", "-a", "ring", *hosts))
            for index in range(min(9, run("return app.schedules.length"))):
                for shown, numbers in (([index], False), ([index], True), ([index, 0], False)):
                    run("app.showAlgorithms(arguments[0]); app.changeView({numbers: arguments[1]})", shown,
                        numbers)
                    self.assertEqual(run(COVERED, False)["wrong"], [])

    def test_a_covered_chip_is_noticed(self):
        self.open(write_page("chips_ring", "all_reduce", "-a", "ring", "-n", 8))
        self.assertGreater(run(COVERED, False)["seen"], 250)
        self.assertIn("covers a chip", " ".join(run(COVERED, True)["wrong"]))


class Worlds(Page):
    def test_every_number_of_ranks_plays_as_rondo_explains_it(self):
        self.open(write_page("worlds", "all_reduce", "-a", "ring", "-n", 4, "--compare", "binomial_tree"))
        self.assertEqual(run("return app.worlds.sizes"), [2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64])
        slider = element("ranks")
        slider.send_keys(Keys.HOME)
        for ranks in run("return app.worlds.sizes"):
            self.assertEqual(element("ranks-value").text, str(ranks))
            shown = run("return app.replays.map(({schedule}) => [schedule.algorithm, schedule.ranks])")
            self.assertEqual(shown, [["ring", ranks], ["binomial_tree", ranks]])
            run("app.player.seek(app.player.end)")
            same = run("""return app.replays.map(({schedule, play}, i) => [play.findings.length,
              rondoPage.outputsDigest(schedule, (rank, chunk) => app.replays[i].outputAt(rank, chunk)) ===
                schedule.outputs,
              JSON.stringify(rondoPage.roundDigests(play)) === JSON.stringify(schedule.rounds)])""")
            self.assertEqual(same, [[0, True, True]] * 2)
            self.assertEqual(element("agreement").text.count("agrees"), 2)
            slider.send_keys(Keys.ARROW_RIGHT)

    def test_what_is_of_another_world_is_noticed(self):
        self.open(write_page("worlds_mixed", "all_reduce", "-a", "ring", "-n", 4))
        self.assertFalse(run("""const [five, six] = [5, 6].map((ranks) => app.worlds.at(ranks)[0]);
          app.setRanks(5); app.player.seek(app.player.end);
          return rondoPage.outputsDigest(five, (rank, chunk) => app.replays[0].outputAt(rank, chunk)) ===
            six.outputs"""))

    def test_hosts_and_own_texts_have_one_world(self):
        self.open(write_page("worlds_hosts", "all_reduce", "-a", "ring", "--hosts", "2x2"))
        self.assertFalse(element("ranks-choice").is_displayed())


class RoundByRound(Page):
    def test_a_step_is_a_round_of_both(self):
        self.open(write_page("rounds", "all_reduce", "-a", "ring", "-n", 8, "--compare", "double_tree"))
        self.assertEqual(run("return [app.player.end, app.player.stops.length]"), [14, 14])
        run("app.player.speed = 4")
        for done in (1, 2, 3):
            step_forward()
            self.assertIn(f"Round {done} of 14.", element("now").text)
            self.assertEqual(run("return app.replays.map((replay) => replay.time)"),
                             run(f"return app.replays.map(({{rounds}}) => rounds[{done - 1}].end)"))
        run("app.player.seek(8)")
        self.assertIn("double tree: done since ", element("now").text)
        self.assertEqual(run("return app.replays.map(({time, end}) => time === end)"), [False, True])
        times = run("""return [0.5, 3, 6.25, 14].map((at) => app.pace.position(app.replays[0],
          app.pace.instant(app.replays[0], at)))""")
        for at, back in zip((0.5, 3, 6.25, 14), times, strict=True):
            self.assertAlmostEqual(at, back)
        Select(element("pace")).select_by_visible_text("one clock")
        self.assertEqual(run("return app.pace.name"), "clock")
