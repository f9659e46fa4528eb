"""Pages play and show at the end what rondo's explainer saw, for every algorithm."""

from browser import Page, run
from support import algorithms, folder, rondo, write_page


class EveryAlgorithm(Page):
    """The page plays and shows at the end what rondo's explainer saw, round by round."""

    CHECK = """
      const wrong = [];
      const first = document.getElementById('first');
      for (const index of app.schedules.keys()) {
        first.value = index;
        first.dispatchEvent(new Event('change'));
        const [replay] = app.replays;
        const {schedule, play} = replay;
        const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(a, b);
        const check = (what, good) => { if (!good) wrong.push(`${schedule.algorithm}: ${what}`); };
        app.player.seek(app.player.end);
        check('end state', rondoPage.outputsDigest(schedule, (rank, chunk) =>
          replay.outputAt(rank, chunk)) === schedule.outputs);
        check('rounds', JSON.stringify(rondoPage.roundDigests(play)) ===
          JSON.stringify(schedule.rounds));
        check('findings', play.findings.length === 0 && schedule.findings.length === 0);
        check('time', near(replay.end, schedule.seconds));
        check('chart', near(rondoPage.timeOverSize(schedule, app.costsOf(schedule), 8, 2 ** 30)(
          app.costs.bytes), schedule.seconds));
        check('stops', replay.stops.length > 0 && near(replay.stops.at(-1), replay.end));
        check('places', rondoPage.layoutOf(schedule).positions.every(({x, y}) =>
          x >= -1e-9 && x <= 1 + 1e-9 && y >= -1e-9 && y <= 1 + 1e-9));
        check('says so', document.getElementById('agreement').textContent.includes('agrees'));
        const text = rondoPage.scheduleText(schedule);
        app.texts = {...app.texts, [schedule.algorithm]: text};
      }
      return wrong;"""

    def check(self, collective, names, ranks, *where):
        where = where or ("-n", ranks)
        address = write_page(f"{collective}_{names[0]}_{ranks}", collective, "-a", names[0], *where,
                             *(["-r", ranks - 1] if collective in ("broadcast", "gather") else []))
        self.open(address)
        self.assertEqual(run(self.CHECK), [], f"{collective}, {ranks} ranks")
        return run("return app.texts")

    def test_ends_as_explained(self):
        for collective, names in algorithms().items():
            for ranks in (2, 3, 4, 5, 8, 16, 64):
                seen = self.check(collective, names, ranks)
                for name in names:
                    if name not in seen:
                        seen.update(self.check(collective, [name], ranks))
                self.assertEqual(sorted(names), sorted(seen))
                if ranks == 5 and collective not in ("broadcast", "gather"):
                    for name in names:
                        self.assertEqual(rondo("schedule", collective, "-a", name, "-n", 5)[1], seen[name])

    def test_takes_as_long_on_hosts_as_rondo_simulate_says(self):
        for collective, names in algorithms().items():
            for hosts, ranks in (("2x2", 4), ("3+5", 8)):
                seen = self.check(collective, names, ranks, "--hosts", hosts)
                self.assertTrue(set(names) <= set(seen))
                self.assertEqual(any("hierarchical" in name for name in seen),
                                 collective not in ("send_recv", "scan", "exclusive_scan"))

    def test_takes_as_long_on_fabrics_as_rondo_simulate_says(self):
        for number, fabric in enumerate((["rail_optimised"], ["fat_tree", "--group", 2],
                                         ["dragonfly", "--group", 2], ["torus", "--extents", "3x2"])):
            cluster = folder / f"cluster{number}.json"
            cluster.write_text(rondo("topology", "--hosts", "6x2", "--numbering", "in_turn", "--ports", 2,
                                     "--port-speed", "25G", "--fabric", *fabric, "--fabric-speed", "10G",
                                     "--json")[1])
            for collective in ("all_reduce", "all_to_all", "broadcast"):
                self.check(collective, algorithms()[collective], 12, "--topology", cluster)

    def test_shows_what_collectives_promise(self):
        """Checks without rondo which rank must hold which contributions in the end."""
        everybody = list(range(4))
        promises = {
            "all_reduce": lambda rank, chunk: everybody, "all_gather": lambda rank, chunk: [chunk],
            "reduce_scatter": lambda rank, chunk: everybody, "broadcast": lambda rank, chunk: [0],
            "all_to_all": lambda rank, chunk: [chunk], "scatter": lambda rank, chunk: [0],
            "scan": lambda rank, chunk: list(range(rank + 1))}
        for collective, promise in promises.items():
            self.open(write_page(f"promise_{collective}", collective, "-n", 4))
            held = run("""app.player.seek(app.player.end);
              const [replay] = app.replays;
              return replay.memory.map((places) => [...places].filter(([, values]) => values.has('output'))
                .map(([chunk, values]) => [chunk, [...values.get('output').set.toString(2)].reverse()
                  .flatMap((bit, rank) => (bit === '1' ? [rank] : []))]));""")
            for rank, chunks in enumerate(held):
                self.assertTrue(chunks, collective)
                for chunk, contributors in chunks:
                    self.assertEqual(contributors, promise(rank, chunk), f"{collective} {rank} {chunk}")
