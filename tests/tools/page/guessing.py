"""The question before Play: one answer is right, and the stage shows it."""

from selenium.webdriver.common.by import By

from browser import Page, at_rest, browser, element, run, wait_for
from support import rondo, write_page

# What rank 0 holds at the moment that is asked about, from the memory of the play alone.
COMPLETE = """
  const [replay] = app.replays;
  const {schedule} = replay;
  return Array.from({length: schedule.chunks}, (_, chunk) => chunk).filter((chunk) =>
    [...(replay.memory[0].get(chunk)?.values() ?? [])].some(({count}) => count === schedule.ranks))
    .map((chunk) => String.fromCharCode(97 + chunk));"""


def answers():
    return browser.find_elements(By.CSS_SELECTOR, ".answers button")


def verdict():
    return browser.find_element(By.CSS_SELECTOR, "#quiz .verdict").text


class Guessing(Page):
    def answer(self, number):
        run("app.player.speed = 4")
        answers()[number].click()
        wait_for(at_rest, "the moment")
        return verdict()

    def check(self, name, right, *arguments):
        self.open(write_page(f"quiz_{name}", *arguments))
        texts = [each.text for each in answers()]
        self.assertGreaterEqual(len(texts), 2)
        self.assertEqual(len(set(texts)), len(texts))
        self.assertEqual(texts.count(right), 1, texts)
        self.assertNotIn("rank 0 then holds", verdict())
        for number, text in enumerate(texts):
            said = self.answer(number)
            self.assertTrue(said.startswith("✓ Right" if text == right else "✗ Not so"), said)
            self.assertTrue(said.endswith(f"rank 0 then holds {right}."), said)
            self.assertEqual(answers()[number].get_attribute("aria-pressed"), "true")

    def test_the_right_answer_is_what_rondo_explain_says(self):
        explained = rondo("explain", "all_reduce", "-a", "ring", "-n", 4)[1]
        self.assertIn("Complete after reduce-scatter: rank 0 has a,", explained)
        self.check("ring", "the complete sum of chunk a", "all_reduce", "-a", "ring", "-n", 4)
        self.check("scatter", "the complete sum of chunk a", "reduce_scatter", "-a", "ring", "-n", 4)
        self.check("tree", "the sum of all ranks", "all_reduce", "-a", "binomial_tree", "-n", 8)
        self.check("hosts", "no complete sum", "all_reduce", "-a", "hierarchical(one_shot,ring)",
                   "--hosts", "2x2")
        self.check("gather", "all chunks", "all_gather", "-a", "ring", "-n", 4)

    def test_the_right_answer_is_what_the_memory_holds(self):
        for algorithm in ("ring", "circulant", "two_shot", "bidirectional_ring"):
            self.open(write_page(f"memory_{algorithm}", "all_reduce", "-a", algorithm, "-n", 5))
            self.answer(0)
            held = run(COMPLETE)
            self.assertEqual(verdict().split("holds ")[1], "the complete sum of chunk" + (
                f"s {' and '.join(held)}." if len(held) > 1 else f" {held[0]}."))

    def test_asks_again_for_another_algorithm(self):
        self.open(write_page("quiz_other", "all_reduce", "-a", "ring", "-n", 4))
        self.answer(0)
        run("app.showAlgorithms([app.schedules.findIndex(({algorithm}) => algorithm === 'binomial_tree')])")
        self.assertNotIn("rank 0 then holds", verdict())
        self.assertIn("After reduce round 2", element("quiz").text)

    def test_asks_nothing_that_has_one_answer(self):
        self.open(write_page("quiz_none", "barrier", "-n", 4))
        self.assertFalse(element("quiz").is_displayed())
