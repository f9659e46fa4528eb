"""Bars of bytes sent: they fill to what each rank sends, and a line marks the least possible."""

from browser import Page, run
from support import algorithms, write_page

# By algorithm and rank: where the bar ends and where the line is, in units of N, as seen on the page.
SEEN = """
  const unit = app.counters.scale / document.querySelector('.counter .track').getBoundingClientRect().width;
  return [...document.querySelectorAll('.counter')].map((list) => [...list.children].map((row) => {
    const left = row.querySelector('.track').getBoundingClientRect().left;
    const fill = row.querySelector('.fill').getBoundingClientRect();
    const line = row.querySelector('.bound')?.getBoundingClientRect();
    return {filled: (fill.right - left) * unit, words: row.querySelector('.sent').textContent,
      line: line ? (line.left + line.width / 2 - left) * unit : null};
  }));"""

NEAR = 0.02  # N: a pixel or two


class Counting(Page):
    def test_the_ring_fills_just_up_to_the_line(self):
        self.open(write_page("bytes_ring", "all_reduce", "-a", "ring", "-n", 8, "--compare", "binomial_tree"))
        for part, shares in ((0, 0), (7, 0.875), (14, 1.75)):
            run(f"app.player.seek({part})")
            ring, _ = run(SEEN)
            for row in ring:
                self.assertAlmostEqual(row["filled"], shares, delta=NEAR)
                self.assertAlmostEqual(row["line"], 1.75, delta=NEAR)
                self.assertTrue(row["words"].startswith(f"{shares:.3g} N = "), row)
        tree = run(SEEN)[1]
        self.assertGreater(tree[0]["filled"], tree[0]["line"] + 1)  # the root sends 3 N
        self.assertLess(tree[1]["filled"], tree[1]["line"])

    def test_every_algorithm_ends_at_what_rondo_counts(self):
        for collective, names in algorithms().items():
            if collective == "barrier":
                continue
            self.open(write_page(f"bytes_{collective}", collective, "-a", names[0], "-n", 5))
            for index in range(run("return app.schedules.length")):
                run(f"app.showAlgorithms([{index}]); app.player.seek(app.player.end)")
                rows = run(SEEN)[0]
                sent, bound = run("const {counts, bound} = app.replays[0].schedule;"
                                  "return [counts.sent, bound.sent.value]")
                self.assertAlmostEqual(max(row["filled"] for row in rows), sent, delta=NEAR * max(1, sent))
                if bound > 0:
                    self.assertAlmostEqual(rows[0]["line"], bound, delta=NEAR * max(1, sent))
                    self.assertGreaterEqual(sent, bound - 1e-9)

    def test_a_bar_or_line_that_is_off_is_noticed(self):
        self.open(write_page("bytes_off", "all_reduce", "-a", "ring", "-n", 4))
        run("app.player.seek(app.player.end)")
        run("document.querySelector('.fill').style.width = '50%';"
            "document.querySelectorAll('.bound')[1].style.left = '50%'")
        rows = run(SEEN)[0]
        self.assertNotAlmostEqual(rows[0]["filled"], 1.5, delta=NEAR)
        self.assertNotAlmostEqual(rows[1]["line"], 1.5, delta=NEAR)

    def test_hosts_have_bars_for_what_leaves_them(self):
        self.open(write_page("bytes_hosts", "all_reduce", "-a", "hierarchical(one_shot,ring)",
                             "--hosts", "2x2", "--compare", "ring"))
        run("app.player.seek(app.player.end)")
        words = [[row["words"].split(" N")[0] for row in rows] for rows in run(SEEN)]
        self.assertEqual([words[1], words[3]], [["1", "1"], ["1.5", "1.5"]])

    def test_a_barrier_sends_no_bytes(self):
        self.open(write_page("bytes_none", "barrier", "-n", 4))
        self.assertEqual(run("return document.querySelectorAll('.counter').length"), 0)
