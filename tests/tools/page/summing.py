"""Numbers on the stage are those of rondo's reference, round by round, and the stage draws them."""

import re

from browser import Page, element, run
from support import rondo, write_page

# The texts that the stage asks its canvas to write.
WRITTEN = """
  const written = [];
  const prototype = CanvasRenderingContext2D.prototype;
  const {fillText} = prototype;
  prototype.fillText = function (text, ...rest) { written.push(text); fillText.call(this, text, ...rest); };
  app.stages[0].drawBehind(app.colours);
  prototype.fillText = fillText;
  return written;"""

# The numbers among them, by rank.
DRAWN = WRITTEN.replace("return written;", """
  const ranks = [];
  for (const text of written)
    if (text.startsWith('rank ')) ranks.push([]);
    else if (/^\\d+$/.test(text)) ranks.at(-1).push(Number(text));
  return ranks;""")

HELD = """return Array.from({length: app.replays[0].schedule.ranks}, (_, rank) =>
  Array.from({length: app.replays[0].schedule.chunks}, (_, chunk) =>
    app.replays[0].cell(rank, chunk).best?.numbers ?? null));"""


def tables_of_reference(arguments, inputs):
    """What each rank's chunks hold at the start and after each round, from rondo explain --values."""
    values = ";".join(",".join(map(str, numbers)) for numbers in inputs if numbers)
    status, output, errors = rondo("explain", *arguments, "--values", values)
    assert status == 0, errors
    tables = []
    for line in output.split("as numbers", 1)[1].split("\n\n")[0].splitlines()[1:]:
        if not line.startswith(" "):
            tables.append([])
        elif row := re.match(r"  rank \d+ +(.*)$", line):
            cells = re.split(r"  +", row.group(1).replace("[", "").replace("]", "").strip())
            tables[-1].append([None if cell == "." else list(map(int, cell.split())) for cell in cells])
    return tables


class Summing(Page):
    CASES = (("all_reduce", "ring", 4), ("all_reduce", "ring", 5), ("all_reduce", "binomial_tree", 4),
             ("reduce_scatter", "ring", 4), ("all_gather", "ring", 4),
             ("reduce_scatter", "circulant", 3), ("broadcast", "chain", 3), ("scan", "chain", 4))

    def differences(self, collective, algorithm, ranks, change=""):
        """The rounds after which the page holds other numbers than the reference."""
        arguments = [collective, "-a", algorithm, "-n", ranks]
        self.open(write_page(f"sums_{collective}_{algorithm}_{ranks}", *arguments))
        inputs = [[number for chunk in rank if chunk for number in chunk] for rank in run(HELD)]
        tables = tables_of_reference(arguments, inputs)
        rounds = run("return app.replays[0].rounds.map(({end}) => end)")
        self.assertEqual(len(tables), len(rounds) + 1)
        wrong = []
        for number, (time, table) in enumerate(zip([0, *rounds], tables, strict=True)):
            run(f"app.player.seek({time}); {change}")
            if run(HELD) != table:
                wrong.append(number)
        return wrong

    def test_numbers_are_those_of_the_reference(self):
        for case in self.CASES:
            with self.subTest(case=case):
                self.assertEqual(self.differences(*case), [])

    def test_sums_of_every_algorithm_are_those_of_the_reference(self):
        """Rounds overlap in some, so only the end is compared."""
        self.open(write_page("sums_all", "all_reduce", "-n", 4))
        for index, algorithm in enumerate(run("return app.schedules.map(({algorithm}) => algorithm)")):
            run(f"app.showAlgorithms([{index}])")
            inputs = [[number for chunk in rank for number in chunk] for rank in run(HELD)]
            run("app.player.seek(app.player.end)")
            tables = tables_of_reference(["all_reduce", "-a", algorithm, "-n", 4], inputs)
            self.assertEqual(run(HELD), tables[-1], algorithm)

    def test_a_wrong_sum_is_noticed(self):
        wrong = "const cell = app.replays[0].cells[0]; app.replays[0].cells[0] = {...cell, best: " \
                "{...cell.best, numbers: cell.best.numbers.map((number) => number + 1)}};"
        self.assertEqual(self.differences("all_reduce", "ring", 4, wrong), list(range(7)))

    def test_the_stage_draws_the_numbers(self):
        for algorithm in ("ring", "one_shot", "double_tree"):
            self.open(write_page(f"drawn_{algorithm}", "all_reduce", "-a", algorithm, "-n", 4))
            for part in (0, 0.4, 1):
                run(f"app.player.seek({part} * app.player.end)")
                held = [[number for chunk in rank for number in chunk] for rank in run(HELD)]
                self.assertEqual(run(DRAWN), held)
            element("numbers").click()
            self.assertEqual(run(DRAWN), [[], [], [], []])

    def test_eight_numbers_of_eight_ranks_have_room(self):
        self.open(write_page("eight", "all_reduce", "-a", "ring", "-n", 8))
        element("numbers").click()
        run("app.player.seek(app.player.stops[9])")
        held = [[number for chunk in rank for number in chunk] for rank in run(HELD)]
        self.assertEqual(run(DRAWN), held)

    def test_large_worlds_have_bars_only(self):
        self.open(write_page("bars", "all_reduce", "-a", "ring", "-n", 16))
        self.assertFalse(element("numbers-choice").is_displayed())
        self.open(write_page("no_bytes", "barrier", "-n", 4))
        self.assertFalse(element("numbers-choice").is_displayed())

    def test_the_vector_is_seen_to_be_cut(self):
        self.open(write_page("cut", "all_reduce", "-a", "ring", "-n", 4))
        for whole in (True, False):
            run("app.changeView({whole: arguments[0]})", whole)
            self.assertEqual("a" in run(WRITTEN), not whole)  # chunks have names once there are some
            self.assertEqual(run(DRAWN)[0], [3, 1, 4, 1])
