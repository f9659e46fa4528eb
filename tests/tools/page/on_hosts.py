"""Hosts as boxes on the stage: their ranks stand in them, and words tell what leaves a host."""

import json

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import Page, browser, element, run, wait_for
from support import folder, rondo, write_page

LEADERS = ["all_reduce", "-a", "hierarchical(one_shot,ring)"]


def in_turn(name, hosts):
    """A topology's file; its ranks are dealt to the hosts in turn."""
    path = folder / f"{name}.json"
    status, output, errors = rondo("topology", "--hosts", hosts, "--numbering", "in_turn", "--json")
    assert status == 0, errors
    cluster = json.loads(output)
    cluster["hosts"] = [host for group in cluster["hosts"]
                        for host in [dict(group, count=1) for _ in range(group.get("count", 1))]]
    for number, host in enumerate(cluster["hosts"]):
        host["name"] = f"node <{number}>"
    path.write_text(json.dumps(cluster))
    return path


class OnHosts(Page):
    # What is wrong with the places of ranks and hosts.
    PLACES = """
      const wrong = [];
      for (const [number, {boxes, replay, width, height}] of
          app.stages.filter(({element}) => !element.hidden).entries()) {
        const {hosts} = replay.schedule;
        const boxOf = (rank) => app.stages[number].box(rank);
        const within = (a, b) => a.x >= b.x && a.y >= b.y && a.x + a.width <= b.x + b.width + 1e-6 &&
          a.y + a.height <= b.y + b.height + 1e-6;
        const apart = (a, b) => a.x + a.width < b.x || b.x + b.width < a.x ||
          a.y + a.height < b.y || b.y + b.height < a.y;
        const stage = {x: 0, y: 0, width, height};
        const all = boxes.centres.map((_, rank) => boxOf(rank));
        all.forEach((a, i) => all.forEach((b, j) => {
          if (i < j && !apart(a, b)) wrong.push(`ranks ${i} and ${j} overlap`); }));
        boxes.frames.forEach((frame, host) => {
          if (!within(frame, stage)) wrong.push(`host ${host} is not on the stage`);
          boxes.frames.forEach((other, i) => {
            if (host < i && !apart(frame, other)) wrong.push(`hosts ${host} and ${i} overlap`); });
          all.forEach((box, rank) => {
            if (hosts[host].ranks.includes(rank) ? !within(box, frame) : !apart(box, frame))
              wrong.push(`rank ${rank} and host ${host}`); });
        });
        if (boxes.frames.length !== hosts.length) wrong.push('the number of hosts');
      }
      return wrong;"""

    def check(self, name, *arguments):
        self.open(write_page(name, *arguments))
        self.assertEqual(run(self.PLACES), [], name)
        self.assertIn("agrees", element("agreement").text)
        return run("return app.schedules[0].hosts.map(({ranks}) => ranks)")

    def test_ranks_stand_in_their_hosts(self):
        half = list(range(4))
        self.assertEqual(self.check("2x4", *LEADERS, "--hosts", "2x4"), [half, [4, 5, 6, 7]])
        self.assertEqual(self.check("3+5", *LEADERS, "--hosts", "3+5"), [half[:3], [3, 4, 5, 6, 7]])
        for hosts in ("1+7", "4x2", "4x1", "5x2", "2+1+6", "4x8", "2x32", "16x2"):
            self.check(hosts, *LEADERS, "--hosts", hosts)
        dealt = self.check("in_turn", *LEADERS, "--topology", in_turn("dealt", "3+5"))
        self.assertEqual(dealt, [[0, 2, 4], [1, 3, 5, 6, 7]])
        self.assertEqual(run("return app.schedules[0].hosts[1].name"), "host 1 (node <1>)")

    def test_ranks_stand_in_their_hosts_on_small_and_shared_screens(self):
        self.resize(500, 900)
        self.check("narrow", *LEADERS, "--hosts", "2x4")
        self.resize(1280, 900)
        self.check("shared", *LEADERS, "--hosts", "3+5", "--compare", "hierarchical(chain,chain)")
        self.assertEqual(run("return app.shown.map((index) => app.schedules[index].algorithm)"),
                         ["hierarchical(one_shot,ring)", "hierarchical(chain,chain)"])

    def test_words_name_other_hosts(self):
        self.open(write_page("host_words", *LEADERS, "--hosts", "2x2"))
        names = [each.get_attribute("aria-label").split(" holds")[0]
                 for each in browser.find_elements(By.CSS_SELECTOR, ".ranks button")]
        self.assertEqual(names, [f"rank {rank} on host {rank // 2}" for rank in range(4)])
        self.assertIn("4 ranks drawn in boxes of 2 hosts", browser.find_element(
            By.CSS_SELECTOR, ".picture canvas").get_attribute("aria-label"))
        run("app.player.seek(app.player.stops[0])")
        self.assertIn("to rank 0: 5;", element("now").text)
        self.assertNotIn(" on host ", element("now").text)
        seen = set()
        for stop in range(run("return app.player.stops.length")):
            run(f"app.player.seek(app.player.stops[{stop}])")
            seen.add(" to rank 2 on host 1" in element("now").text)
        self.assertEqual(seen, {False, True})
        self.assertEqual(element("rank-title").text, "Rank 0 on host 0")
        run("document.getElementById('rounds-box').open = true")
        table = element("round-tables").text
        self.assertIn("rank 3 on host 1", table)
        self.assertRegex(table, r"→ 2 on host 1")
        self.assertIn("a 1 → 0; b 1 → 0 c 2 → 3;", table)
        self.assertIn("--hosts 2x2 ", element("command").text)
        self.assertIn("--algorithm 'hierarchical(one_shot,ring)' ", element("command").text)

    def test_tables_of_many_ranks_count_what_leaves_a_host(self):
        self.open(write_page("host_counts", *LEADERS, "--hosts", "3x4"))
        run("document.getElementById('rounds-box').open = true")
        rows = [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "th, td")]
                for row in browser.find_elements(By.CSS_SELECTOR, ".rounds tr")]
        self.assertEqual(rows[0][:3], ["round", "messages", "between hosts"])
        for row in rows[1:]:
            crossing = "across hosts" in row[0]
            self.assertEqual(row[2], row[1] if crossing else "0", row)

    def test_a_schedule_typed_for_as_many_ranks_stands_in_the_hosts(self):
        self.open(write_page("host_editor", *LEADERS, "--hosts", "2x2"))
        browser.find_element(By.CSS_SELECTOR, "#editor > summary").click()
        wait_for(lambda: run("return document.querySelector('#editor textarea').value !== ''"), "the text")
        browser.find_element(By.CSS_SELECTOR, ".play-text").click()
        self.assertEqual(run("return app.stages[0].layout.kind"), "hosts")
        self.assertEqual(run(self.PLACES), [])
        run("""const area = document.querySelector('#editor textarea');
          area.value = 'collective barrier\\nranks 1\\n'; area.dispatchEvent(new Event('input'));""")
        browser.find_element(By.CSS_SELECTOR, ".play-text").click()
        self.assertEqual(run("return app.replays[0].schedule.ranks"), 1)
        self.assertNotEqual(run("return app.stages[0].layout.kind"), "hosts")

    def test_the_chart_has_the_times_of_rondo_simulate(self):
        self.open(write_page("host_times", "all_reduce", "--hosts", "3+5"))
        for size in (4096, 1 << 18):  # sizes of the chart's table
            lines = rondo("simulate", "all_reduce", "--hosts", "3+5", "--bytes", size)[1].splitlines()[2:]
            simulated = {line.split()[0]: float(line.split()[1]) for line in lines}
            times = run("""return app.schedules.map((schedule) => [schedule.algorithm,
              1e6 * rondoPage.timeOverSize(schedule, app.costs, 8, 2 ** 30)(arguments[0])]);""", size)
            self.assertGreater(len(times), 20)
            for name, time in times:
                self.assertAlmostEqual(time / simulated[name], 1, delta=1e-4, msg=f"{name} {size}")

    def test_the_network_has_sliders_of_its_own(self):
        names = ("network-alpha", "network-bandwidth")
        self.open(write_page("host_sliders", *LEADERS, "--hosts", "2x2"))
        self.assertEqual(element("network-alpha-value").text, "10 µs")
        self.assertEqual(element("network-bandwidth-value").text, "1.25 GB/s")
        self.assertIn(" + 1 × 10 µs between hosts + ", element("cost-lines").text)
        for name in names:
            before = run("return app.player.end")
            element(name).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
            wait_for(lambda: run("return app.player.end") != before, f"the slider {name}")
        self.open(write_page("host_none", "all_reduce", "-n", 4))
        for name in names:
            self.assertFalse(element(name).is_displayed())

    def test_one_host_is_no_box(self):
        for name, where in (("one_host", ["--hosts", "4"]), ("no_host", ["-n", "4"])):
            self.open(write_page(name, "all_reduce", "-a", "ring", *where))
            self.assertEqual(run("return [app.stages[0].layout.kind, app.stages[0].boxes.frames.length]"),
                             ["ring", 0])
            self.assertNotIn("host", element("rank-title").text)
