"""The editor: its verdicts are those of `rondo verify`, and pasted text stays text."""

import json
import re

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import schedules
from browser import Page, browser, element, run, wait_for
from support import folder, rondo, root, write_page


class Editing(Page):
    def verdict(self, text):
        """The verdict of rondo verify: 0 right, 1 wrong, 2 not a schedule. And its findings, without places
        in the text: the page names no line of a step, and of two mistakes it may meet another one first."""
        status, lines, error = rondo("verify", "--file", "-", text=text)
        if status == 2:
            return status, [re.sub(r"^rondo: standard input:\d+:\d+: ", "", error.rstrip("\n"))]
        return status, sorted(re.sub(r", line \d+", "", line) for line in lines.splitlines()[:-1])

    def test_verdicts_and_findings_are_those_of_rondo_verify(self):
        self.open(write_page("verdicts", "all_reduce", "-n", 2))
        texts = list(schedules.right_and_wrong(rondo))
        ours = run("""return arguments[0].map((text) => {
          const {schedule, findings} = rondoPage.checkText(text);
          return [schedule === null ? 2 : findings.length > 0 ? 1 : 0,
            findings.map((each) => each.replace(/^line \\d+, column \\d+: /, "")).sort()]; });""", texts)
        theirs = [self.verdict(text) for text in texts]
        for text, our, their in zip(texts, ours, theirs):
            self.assertEqual(tuple(our), their, text)
        for status in (0, 1, 2):
            self.assertGreater([each[0] for each in theirs].count(status), 8)

    def test_says_how_texts_with_loops_come_into_the_page(self):
        self.open(write_page("loops", "all_reduce", "-n", 2))
        check = """const {schedule, findings} = rondoPage.checkText(arguments[0]);
          return [schedule && rondoPage.scheduleText(schedule), findings];"""
        for example in sorted((root / "tools/examples/schedules").glob("*.schedule")):
            schedule, findings = run(check, example.read_text(encoding="utf-8"))
            self.assertIsNone(schedule)
            self.assertIn("`rondo schedule --file", findings[0])
            written = rondo("schedule", "--file", example, "--hosts", "2x2")[1]
            self.assertEqual(run(check, written), [written, []], example)
        for body in ("ranks 2\nrank P-1\n", "ranks 2\nrank 0\nsend input[1-1] to 1\n"):
            self.assertIn("`rondo schedule --file", run(check, f"collective barrier\n{body}")[1][0])
        for body in ("ranks 2\nrank 2\n", "ranks 2\nrank 0\nsend input[5] to 1\n", "ranks # for 2..4\n"):
            self.assertEqual(len(run(check, f"collective barrier\n{body}")[1]), 1, body)

    def test_writes_checks_and_plays(self):
        self.open(write_page("editor", "all_reduce", "-a", "recursive_doubling", "-n", 2))
        browser.find_element(By.CSS_SELECTOR, "#editor > summary").click()
        area = browser.find_element(By.CSS_SELECTOR, "#editor textarea")
        wait_for(lambda: area.get_attribute("value") != "", "the text")
        self.assertEqual(area.get_attribute("value"),
                         rondo("schedule", "all_reduce", "-a", "recursive_doubling", "-n", 2)[1])
        verdict = element("verdict")
        self.assertIn("Right", verdict.text)
        area.send_keys(Keys.CONTROL, Keys.END)
        area.send_keys("send input[0] to 0")
        wait_for(lambda: "Wrong" in verdict.text, "the verdict")
        self.assertIn("were never received", browser.find_element(By.CSS_SELECTOR, ".findings").text)
        browser.find_element(By.CSS_SELECTOR, ".play-text").click()
        self.assertIn("were never received", element("problems").text)
        for wrong in ("collective barrier\nranks 2\nrank 0\nsend input[0] to 0\n",
                      "collective barrier\nranks 3\nlanes 2\n"):
            run("const area = document.querySelector('#editor textarea'); area.value = arguments[0];"
                "area.dispatchEvent(new Event('input'))", wrong)
            browser.find_element(By.CSS_SELECTOR, ".play-text").click()
            wait_for(lambda: browser.find_elements(By.CSS_SELECTOR, "#chart .curve"), "the chart")
            self.assertTrue(element("problem-box").is_displayed())
        choice = Select(browser.find_element(By.CSS_SELECTOR, ".editor-buttons select"))
        choice.select_by_visible_text("two levels, right")
        browser.find_element(By.CSS_SELECTOR, ".play-text").click()
        self.assertFalse(element("problem-box").is_displayed())
        self.assertEqual(run("return app.stages[0].layout.kind"), "levels")
        for option in choice.options[1:]:
            choice.select_by_visible_text(option.text)
            self.assertEqual("right" in option.text, self.verdict(area.get_attribute("value"))[0] == 0)
            self.assertEqual("right" in option.text, verdict.get_attribute("data-state") == "right")

    def test_text_of_others_stays_text(self):
        evil = folder / "evil.txt"
        evil.write_text("collective all_reduce\nalgorithm </script><img/src=x/onerror=alert(1)>\n"
                        'ranks 1\nphases "<b>\u2028&amp;"\nrank 0\ncopy input[0] into output[0]\n',
                        encoding="utf-8")
        self.open(write_page("evil", "--file", evil))
        self.assertIn("</script><img/src=x/onerror=alert(1)>", browser.title)
        self.assertEqual(browser.find_elements(By.TAG_NAME, "img"), [])
        self.assertIn("<b>\u2028&amp;", json.dumps(run("return app.schedules[0].phases"), ensure_ascii=False))
