"""Without a mouse, without eyes for colours, on paper; the lessons."""

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import Page, at_rest, browser, element, press, run, step_forward, wait_for
from support import folder, rondo, write_page


class WithoutAMouse(Page):
    def test_tab_reaches_everything_and_keys_work(self):
        self.open(write_page("keys", "all_reduce", "-a", "ring", "-n", 4))
        reached = []
        for _ in range(30):
            press(Keys.TAB)
            reached.append(run("""const at = document.activeElement;
              return at.id || at.dataset.rank && `rank ${at.dataset.rank}` || at.tagName"""))
        for name in ("first", "second", "theme", "rank 0", "to-start", "back", "play", "forward", "to-end",
                     "scrub", "speed", "size", "alpha", "bandwidth", "reducing", "SUMMARY"):
            self.assertIn(name, reached)
        browser.execute_script("document.activeElement.blur()")
        press(Keys.END)
        self.assertEqual(run("return app.player.time"), run("return app.player.end"))
        press(Keys.HOME)
        self.assertEqual(run("return app.player.time"), 0)
        press("+")
        self.assertEqual(run("return app.player.speed"), 2)
        press("-", "-")
        self.assertEqual(run("return app.player.speed"), 0.5)
        press(Keys.SPACE)
        self.assertTrue(run("return app.player.playing"))
        press(Keys.SPACE)
        self.assertTrue(at_rest())
        press("c")
        self.assertEqual(run("return document.activeElement.id"), "second")
        press(Keys.ARROW_DOWN)  # a choice by keyboard
        wait_for(lambda: run("return app.replays.length") == 2, "the second algorithm")

    def test_rounds_and_ranks_are_told_in_words(self):
        self.open(write_page("words", "all_reduce", "-a", "ring", "-n", 4))
        run("app.player.speed = 4")
        step_forward()
        told = element("live").get_attribute("textContent")
        self.assertEqual(element("live").get_attribute("aria-live"), "polite")
        self.assertIn("reduce-scatter round 1: rank 0 sent chunk d of rank 0 to rank 1", told)
        step_forward()
        self.assertIn("chunk c, the sum of ranks 0 and 3, to rank 1",
                      element("live").get_attribute("textContent"))
        rank = browser.find_element(By.CSS_SELECTOR, ".ranks button")
        self.assertIn("rank 0 holds: ", rank.get_attribute("aria-label"))
        run("document.querySelector('.ranks button').focus()")
        press(Keys.ARROW_RIGHT)
        self.assertEqual(element("rank-title").text, "Rank 1")
        self.assertIn("ranks 0, 1 and 3", element("rank-chunks").text)

    def test_light_dark_and_paper(self):
        self.open(write_page("paper", "all_reduce", "-a", "ring", "-n", 4))
        colour = "return getComputedStyle(document.body).backgroundColor"
        light = run(colour)
        element("theme").click()
        self.assertNotEqual(run(colour), light)
        self.assertEqual(element("theme").get_attribute("aria-pressed"), "true")
        element("theme").click()
        self.assertEqual(run(colour), light)
        self.emulate("print", prefers_color_scheme="dark")
        run("window.dispatchEvent(new Event('beforeprint'))")
        self.assertFalse(element("play").is_displayed())
        rows = browser.find_elements(By.CSS_SELECTOR, ".rounds tbody tr")
        self.assertEqual(len(rows), 6)
        self.assertTrue(rows[0].is_displayed())
        self.assertEqual(rows[1].text, "reduce-scatter round 2 c 0+3 → 1 d 0+1 → 2 a 1+2 → 3 b 2+3 → 0")
        run("window.dispatchEvent(new Event('afterprint'))")

    def test_lessons_on_paper_have_their_text_and_notes(self):
        rondo("learn", "--output", folder / "paper")
        self.open((folder / "paper" / "zero.html").as_uri())
        notes = browser.find_element(By.CSS_SELECTOR, ".notes")
        self.assertFalse(notes.is_displayed())
        self.emulate("print")
        self.assertTrue(notes.is_displayed())
        self.assertTrue(all(each.is_displayed() for each in browser.find_elements(By.CSS_SELECTOR, ".scene")))
        self.assertFalse(element("play").is_displayed())


class Learning(Page):
    def test_every_lesson_plays(self):
        site = folder / "site"
        self.assertEqual(rondo("learn", "--output", site)[0], 0)
        browser.get((site / "index.html").as_uri())
        links = [link.get_attribute("href") for link in browser.find_elements(By.CSS_SELECTOR, ".lessons a")]
        self.assertEqual(len(links), 10)
        for link in links:
            self.open(link)
            self.assertEqual(len(browser.find_elements(By.TAG_NAME, "h1")), 1)
            self.assertNotIn("DIFFERS", element("agreement").text)
            self.assertRegex(element("agreement").text, "agrees|checked in this page")  # a typed one
            self.assertEqual(run("return app.replays.flatMap((replay) => replay.play.findings)"), [])

    def test_the_ring_leaves_rank_0_with_chunk_a(self):
        self.open((folder / "site" / "reduce_scatter.html").as_uri())
        run("app.player.seek(app.player.end)")
        owned = run("""return app.replays[0].memory.map((places) => [...places].filter(([, values]) =>
          values.has('output')).map(([chunk]) => String.fromCharCode(97 + chunk)).join());""")
        self.assertEqual(owned, ["a", "b", "c", "d"])
        table = browser.find_elements(By.CSS_SELECTOR, ".notes tbody tr")
        sent = run("""return app.replays[0].messages.map(({from, round, values}) => [round, from,
          `${String.fromCharCode(97 + values[0].chunk)} of ` + [...values[0].set.toString(2)].reverse()
            .flatMap((bit, rank) => (bit === '1' ? [rank] : [])).join(', ')]);""")
        for round_number, rank, words in sent:
            cell = table[round_number].find_elements(By.TAG_NAME, "td")[rank]
            self.assertEqual(cell.get_attribute("textContent"), words)
