#!/usr/bin/env python3
"""The commands that write and serve pages: what they write, what they refuse, how they end.

    command_test.py RONDO FOLDER
"""

import json
import re
import signal
import socket
import sys
import unittest
import urllib.error
import urllib.request

from support import MOST_PAGE_BYTES, Refusing, Running, folder, rondo, rondo_program

LESSONS = ["one_rank", "tree", "reduce_scatter", "all_gather", "least_traffic", "crossover",
           "double_tree", "hierarchical", "zero", "write_your_own"]


def data_of(path):
    """What the page of this file has to show."""
    return json.loads(re.search(r'id="data">(.*)</script>', path.read_text()).group(1))


class WritingPages(Refusing):
    def test_says_what_it_wrote(self):
        path = folder / "ring.html"
        status, output, _ = rondo("explain", "all_reduce", "-a", "ring", "-n", 4, "--html", path)
        self.assertEqual(status, 0)
        self.assertRegex(output, rf"wrote {path}, \d+ KB")
        page = path.read_text()
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        self.assertNotRegex(page, r'(src|href)="(https?:)?//')
        self.assertEqual(page.count("</script>"), 2)

    def test_takes_its_clock_from_a_profile(self):
        def spread(seconds):
            return {"low": seconds, "median": seconds, "high": seconds}

        def curve(seconds):
            return [{"bytes": 1 << 20, "seconds": spread(seconds)}]

        link = {"ranks": 2, "cores": 2, "hosts": 1, "alpha": spread(3e-6), "one_way": curve(1e-3),
                "combining": curve(0.008), "meeting": spread(0), "fetch": [],
                "fetch_combining": []}
        links = [{**link, "transport": "shm", "exchange": curve(1e-3)},
                 {**link, "transport": "tcp", "exchange": curve(0.004)}]
        profile = folder / "profile.json"
        profile.write_text(json.dumps({
            "what": "rondo calibration profile", "schema": 3, "date": "", "rondo_version": "",
            "machine": {"cpu": "one", "cores": 2, "kernel": "6"}, "links": links, "gamma": []}))
        path = folder / "clock.html"
        status, output, _ = rondo("explain", "all_reduce", "-a", "ring", "-n", 2, "--html", path,
                                  "--profile", profile, "--transport", "tcp")
        self.assertEqual(status, 0)
        self.assertIn("the clock of the page, from", output)
        data = data_of(path)
        self.assertAlmostEqual(data["alpha"], 3e-6)
        self.assertAlmostEqual(data["beta"] * data["bytes"], 0.004 - 2 * 3e-6)
        self.assertAlmostEqual(data["gamma"] * data["bytes"], 0.004)

    def test_takes_its_clock_from_the_hosts(self):
        path = folder / "hosts.html"
        status, output, _ = rondo("explain", "all_reduce", "-a", "ring", "--hosts", "3+1", "--html", path)
        self.assertEqual(status, 0)
        self.assertIn("the clock of the page: alpha 3e-07 s and 1e-10 s/byte in a host, alpha 1e-05", output)
        data = data_of(path)
        self.assertEqual([data["alpha"], data["beta"], data["gamma"]], [3e-7, 1e-10, 5e-11])
        self.assertEqual(data["network"], {"alpha": 1e-5, "beta": 8e-10, "links": [1, 1, 1, 1],
                                           "ports": [0, 0, 0, 1], "ways": [[-1, 0], [1, -1]],
                                           "hops": [2, -1, 3, -1]})
        simulated = rondo("simulate", "all_reduce", "-a", "ring", "--hosts", "3+1")[1]
        self.assertIn(f"{1e6 * data['schedules'][0]['seconds']:.3f}", simulated)

    def test_refuses_what_fits_on_no_page(self):
        page = ["--html", folder / "none.html"]
        self.refused(["65 ranks do not fit on a page", "at most 64"], "all_reduce", "-n", 65, *page)
        self.refused(["no algorithm 'rng'", "bidirectional_ring"], "all_reduce", "-a", "rng", *page)
        self.refused(["no algorithm 'tree'"], "all_reduce", "--compare", "tree", *page)
        self.refused(["--compare needs --html"], "all_reduce", "--compare", "ring")
        self.refused(["--profile", "--html"], "all_reduce", "--profile", "x")
        self.refused(["no such file"], "all_reduce", "--profile", folder / "none", *page)
        self.refused(["--transport", "--profile"], "all_reduce", "--transport", "tcp", *page)
        self.refused(["cannot write", "no/folder"], "all_reduce", "--html", folder / "no/folder/x")
        self.assertFalse((folder / "none.html").exists())

    def test_the_largest_networks_fit(self):
        for shape in (["8x8", "--ports", 8, "--fabric", "rail_optimised", "--fabric-speed", "10G"],
                      ["64x1", "--fabric", "torus", "--extents", 64, "--fabric-speed", "10G"],
                      ["64x1", "--fabric", "dragonfly", "--fabric-speed", "10G"]):
            cluster = folder / "cluster.json"
            cluster.write_text(rondo("topology", "--hosts", *shape, "--json")[1])
            for collective in ("all_reduce", "all_gather", "reduce"):
                path = folder / "large.html"
                status, _, errors = rondo("explain", collective, "--topology", cluster, "--html", path)
                self.assertEqual(status, 0, errors)

    def test_refuses_hosts_that_are_none(self):
        page = ["--html", folder / "none.html"]
        self.refused(["--hosts", "--ranks"], "all_reduce", "-n", 8, "--hosts", "2x3", *page)
        self.refused(["'0'", "--hosts 2x0"], "all_reduce", "--hosts", "2x0", *page)
        self.refused(["65 ranks do not fit"], "all_reduce", "--hosts", "5x13", *page)
        self.refused(["--profile", "--hosts"], "all_reduce", "--hosts", "2x2", "--profile", "x", *page)
        self.refused(["no such file"], "all_reduce", "--topology", folder / "none", *page)
        self.refused(["no algorithm 'hierarchical(one_shot,rng)'", "recursive_doubling"], "all_reduce",
                     "--hosts", "2x2", "--compare", "hierarchical(one_shot,rng)", *page)
        self.assertFalse((folder / "none.html").exists())

    def test_refuses_what_only_tables_have(self):
        self.assertEqual(rondo("explain", "all_reduce", "--html", folder / "x", "--count", 4)[0], 2)
        self.assertFalse((folder / "x").exists())

    def test_refuses_a_full_disk(self):
        self.refused(["cannot write '/dev/full'", "space"], "all_reduce", "--html", "/dev/full")

    def test_refuses_too_many_chunks_and_steps(self):
        many = folder / "many.txt"
        many.write_text("collective broadcast\nranks 2\nparts 9000\n")
        self.refused(["9000 chunks on 2 ranks", "16384"], "--file", many, "--html", folder / "x")
        steps = [f"copy input[{i % 50}] into scratch{i}[{i % 50}]\n" for i in range(16000)]
        many.write_text("collective broadcast\nranks 2\nparts 50\n"
                        f"rank 0\n{''.join(steps)}rank 1\n{''.join(reversed(steps))}")
        self.refused(["the page would have", "at most 400"], "--file", many, "--html", folder / "x")

    def test_own_schedules_get_no_table_row_by_their_name(self):
        text = folder / "own.txt"
        text.write_text("collective all_reduce\nalgorithm ring\nranks 1\n"
                        "rank 0\ncopy input[0] into output[0]\n")
        path = folder / "own.html"
        self.assertEqual(rondo("explain", "--file", text, "--html", path)[0], 0)
        first = data_of(path)["schedules"][0]
        self.assertNotIn("cost", first)
        self.assertEqual(first["ranks"], 1)

    def test_text_of_others_cannot_leave_the_data(self):
        evil = folder / "evil.txt"
        evil.write_text('collective all_reduce\nalgorithm </script><script>alert(1)</script>\n'
                        'ranks 1\nphases "<!--<script>" "\u2028&"\nrank 0\n'
                        'copy input[0] into output[0]\n', encoding="utf-8")
        path = folder / "evil.html"
        self.assertEqual(rondo("explain", "--file", evil, "--html", path)[0], 0)
        page = path.read_text(encoding="utf-8")
        self.assertEqual(page.count("</script>"), 2)
        self.assertNotIn("<!--<script>", page)
        self.assertNotIn("\u2028", page)


class Lessons(unittest.TestCase):
    def test_writes_a_folder(self):
        site = folder / "new" / "site"
        status, output, _ = rondo("learn", "--output", site)
        self.assertEqual(status, 0)
        self.assertIn("index.html", output)
        names = sorted(path.name for path in site.iterdir())
        self.assertEqual(names, sorted(["index.html", *(f"{name}.html" for name in LESSONS)]))
        index = (site / "index.html").read_text()
        self.assertEqual(re.findall(r'<li><a href="(\w+)\.html', index), LESSONS)
        for path in site.iterdir():
            self.assertLess(path.stat().st_size, MOST_PAGE_BYTES)
            for link in re.findall(r'href="(\w+\.html)"', path.read_text()):
                self.assertIn(link, names)

    def test_refuses_a_folder_that_cannot_be(self):
        (folder / "file").write_text("")
        status, _, errors = rondo("learn", "--output", folder / "file" / "below")
        self.assertEqual(status, 2)
        self.assertIn("cannot make the folder", errors)
        self.assertEqual(rondo("learn", "--port", 1, "--output", "x")[0], 2)
        self.assertEqual(rondo("learn", "--port", 65536)[0], 2)

    def start(self):
        server = Running(rondo_program, "learn")
        self.addCleanup(server.kill)
        server.wait_for("\n")
        address = re.search(r"http://127\.0\.0\.1:(\d+)/", server.text)
        return server, address.group(0), int(address.group(1))

    def test_serves_until_interrupted(self):
        server, address, port = self.start()
        with urllib.request.urlopen(address) as reply:
            self.assertIn("How collectives work", reply.read().decode())
        with urllib.request.urlopen(address + "tree.html?x") as reply:
            self.assertEqual(reply.headers["Content-Type"], "text/html; charset=utf-8")
            self.assertIn("Trees: few rounds", reply.read().decode())
        for target in ("nothing.html", "../../etc/passwd"):
            with self.assertRaises(urllib.error.HTTPError) as error:
                urllib.request.urlopen(address + target)
            self.assertEqual(error.exception.code, 404)
            error.exception.close()
        status, _, errors = rondo("learn", "--port", port)
        self.assertEqual(status, 2)
        self.assertIn(f"cannot listen on port {port}", errors)
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.status(), 0)

    def test_bears_with_odd_clients(self):
        server, address, port = self.start()
        idle = socket.create_connection(("127.0.0.1", port))
        self.addCleanup(idle.close)
        for request, start in ((b"POST / HTTP/1.1\r\n\r\n", b"HTTP/1.1 405"),
                               (b"HEAD / HTTP/1.1\r\n\r\n", b"HTTP/1.1 200"),
                               (b"\r\n\r\n", b"HTTP/1.1 405"), (b"x" * 40000, b"")):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
                try:
                    client.sendall(request)
                    with client.makefile("rb") as reply:
                        self.assertTrue(reply.read().startswith(start))
                except (ConnectionResetError, BrokenPipeError):  # already while it is being sent
                    self.assertEqual(start, b"")
        with urllib.request.urlopen(address) as reply:
            self.assertEqual(reply.status, 200)
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.status(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
