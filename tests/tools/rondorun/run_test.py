#!/usr/bin/env python3
"""rondorun as a user meets it: environment, arguments, output, statuses, on one machine."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from support import RANK, RONDORUN, flood, job, lines_of, started

from jobs import Job, JobTest, each, finish
from running import HANG_SECONDS

MISTAKES = [
    (127, "cannot run 'no-such-program': there is no program of that name", "-n", 2, "no-such-program"),
    (127, "cannot run './no-such': No such file or directory", "-n", 2, "./no-such"),
    (126, "cannot run '/etc/passwd': Permission denied", "-n", 2, "/etc/passwd"),
    (126, "cannot run '/': Permission denied", "-n", 2, "/"),
    (1, "change to directory '/no/such'", "-n", 2, "--directory", "/no/such", "true"),
    (1, "make directory '/dev/null/x'", "-n", 2, "--output-dir", "/dev/null/x", "true"),
    (2, "-n: there must be at least 1 rank", "-n", 0, "true"),
    (2, "x", "-n", "x", "true"),
    (2, "the number of ranks is missing", "true"),
    (2, "no program was given", "-n", 2),
    (2, "unknown option --no-such", "-n", 2, "--no-such", "true"),
    (2, "unknown option --no-such", "--no-such", "-n", 2, "true"),
    (2, "--master-port 99999: give a port from 1", "-n", 2, "--master-port", 99999, "true"),
    (2, "--master-port x: give a port from 1", "-n", 2, "--master-port", "x", "true"),
    (2, "--timeout -3: give 0.001 to", "-n", 2, "--timeout", -3, "true"),
    (2, "--timeout 3s: give 0.001 to", "-n", 2, "--timeout", "3s", "true"),
    (2, "--env: 'X' is not of the form NAME=VALUE", "-n", 2, "--env", "X", "true"),
    (2, "need --master-addr and --master-port", "-n", 2, "--nnodes", 2, "true"),
    (2, "must be from 0 to 1", "-n", 2, "--nnodes", 2, "--node-rank", 2, "true"),
    (2, "--hosts: 'a:0' has no number of ranks", "--hosts", "a:0", "true"),
    (2, "--hosts offers only 1 ranks", "--hosts", "a:1", "-n", 2, "true"),
    (2, "--bind", "--bind", "x", "-n", 1, "true"),
    (2, "--grace", "--grace", -1, "-n", 1, "true"),
]


class Runs(JobTest):
    def check_flood(self, text, ranks, count, prefix=""):
        """Each rank's lines are in order, nothing is missing and nothing mixed."""
        found = {rank: [] for rank in ranks}
        for line in text.splitlines():
            plain = line.removeprefix(f"[rank {line[6:7]}] ") if prefix else line
            self.assertTrue(not prefix or line.startswith(f"[rank {plain[:1]}] "), line)
            found[int(plain.split()[0])].append(plain)
        self.assertTrue(found == {rank: flood(rank, count) for rank in ranks}, "lines are wrong")

    def test_each_rank_finds_who_it_is_in_its_environment(self):
        result = finish(*job(["-n", 3, "--master-port", 4321], "environment", "RANK", "WORLD_SIZE",
                             "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                             "GROUP_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"))
        self.assertEqual((result.status, result.error), (0, ""))
        same = ("LOCAL_WORLD_SIZE=3 GROUP_RANK=0 GROUP_WORLD_SIZE=1 NODE_RANK=0 MASTER_ADDR=127.0.0.1 "
                "MASTER_PORT=4321")
        self.assertEqual(lines_of(result.output),
                         [f"RANK={rank} WORLD_SIZE=3 LOCAL_RANK={rank} {same}" for rank in range(3)])

    def test_options_set_variables_and_a_torchrun_around_this_one_is_forgotten(self):
        result = finish(*job(["-n1", "--transport=tcp", "--algorithm", "ring", "--timeout", 7, "--debug",
                              "info", "--env", "A=b c", "--env=B=2", "--env", "LOCAL_RANK=9"],
                             "environment", "RONDO_TRANSPORT", "RONDO_ALGORITHM", "RONDO_TIMEOUT",
                             "RONDO_DEBUG", "A", "B", "LOCAL_RANK", "TORCHELASTIC_USE_AGENT_STORE", "KEPT"),
                        TORCHELASTIC_USE_AGENT_STORE="True", KEPT="1", RANK="5")
        self.assertEqual(result.output,
                         "RONDO_TRANSPORT=tcp RONDO_ALGORITHM=ring RONDO_TIMEOUT=7 RONDO_DEBUG=info A=b c "
                         "B=2 LOCAL_RANK=9 TORCHELASTIC_USE_AGENT_STORE=(unset) KEPT=1\n")

    @each(["--directory", "/"], ["--directory=/", "--"])
    def test_words_after_the_program_belong_to_the_program(self, options):
        words = "-n", 5, "--prefix", "--", "--help", "a b", ""
        result = finish(*job(["-n", 1, *options], "arguments", *words))
        self.assertEqual((result.status, result.output),
                         (0, "[-n]\n[5]\n[--prefix]\n[--]\n[--help]\n[a b]\n[]\n/\n"), result.error)

    def test_a_program_may_be_named_like_an_option(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "-p").symlink_to("/bin/echo")
            result = finish(RONDORUN, "-n", 1, "--", "-p", "--", "-n", PATH=f"{folder}:{os.environ['PATH']}")
            self.assertEqual((result.status, result.output), (0, "-- -n\n"), result.error)

    def test_rank_0_reads_the_input_the_others_nothing(self):
        with Job(*job(["-n", 3], "read")) as ranks:
            ranks.type("some words")
            self.assertEqual(lines_of(ranks.result().output),
                             ["rank 0 read 'some words'", "rank 1 read ''", "rank 2 read ''"])

    @each("", "--prefix")
    def test_lines_of_different_ranks_never_mix(self, prefix):
        result = finish(*job(["-n", 4, *prefix.split()], "flood", 5000))
        self.assertEqual(result.status, 0)
        self.check_flood(result.output, range(4), 5000, prefix)
        self.check_flood(result.error, range(4), 5000, prefix)

    def test_the_last_line_needs_no_end_and_a_carriage_return_ends_one(self):
        words = job(["-n", "1", "--prefix"], "show", "10%\r20%\rdone\r\nend")
        self.assertEqual(subprocess.check_output(words, timeout=HANG_SECONDS),
                         b"[rank 0] 10%\r[rank 0] 20%\r[rank 0] done\r\n[rank 0] end")

    def test_output_dir_has_a_file_for_each_rank_and_stream_and_nothing_else_is_left(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            result = finish(*job(["-n", 2, "--output-dir", folder / "new"], "flood", 100))
            self.assertEqual((result.output, result.error), ("", ""))
            for rank in (0, 1):
                for stream in ("out", "err"):
                    self.check_flood((folder / f"new/rank.{rank}.{stream}").read_text(), [rank], 100)
            self.assertEqual([path.name for path in folder.iterdir()], ["new"])

    def test_a_full_disk_below_output_dir_is_told_and_the_job_goes_on(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "rank.1.out").symlink_to("/dev/full")
            result = finish(*job(["-n", 2, "--output-dir", folder], "flood", 100))
            self.assertEqual((result.status, result.error),
                             (0, f"rondorun: cannot write '{folder}/rank.1.out': No space left on device; "
                                 "the rest of it is lost\n"))
            self.check_flood((folder / "rank.0.out").read_text(), [0], 100)

    def test_a_full_disk_under_rondoruns_own_output_is_told_and_ends_the_job(self):
        result = finish("sh", "-c", f"'{RONDORUN}' -n 1 sh -c 'echo a; sleep 60' >/dev/full")
        self.assertEqual((result.status, result.error),
                         (141, "rondorun: cannot write the output: No space left on device\n"))

    def test_ranks_get_no_descriptor_that_rondorun_itself_did_not_get(self):
        inherited = finish(RANK, "descriptors").output
        self.assertTrue(inherited.startswith("0 1 2"), inherited)
        self.assertEqual(finish(*job(["-n", 2], "descriptors")).output, inherited * 2)

    def test_two_jobs_at_once_get_different_ports_which_their_ranks_can_listen_on(self):
        with started(1, ["-n", 3], "peers", 0) as first, started(1, ["-n", 3], "peers", 0) as second:
            for one in (first, second):
                one.send_signal(15)
            self.assertEqual((first.end(), second.end()), (143, 143))

    def test_bind_core_gives_each_rank_one_core(self):
        self.assertEqual(finish(*job(["-n", 1, "--bind", "core"], "cores")).output, "1\n")
        result = finish(*job(["-n", 100_000, "--bind", "core"], "cores"))
        self.assertEqual(result.status, 2)
        self.assertIn("--bind core: 100000 ranks, but ", result.error)

    def test_a_terminal_is_handed_to_the_ranks_unless_a_prefix_is_wanted(self):
        with Job(*job(["-n", 1], "terminal"), terminal=True) as ranks:
            ranks.wait_for("a terminal\r\n")
            ranks.wait_for("up ")
            ranks.type("\x03")
            self.assertEqual(ranks.end(), 130)
            ranks.wait_none_left()

    def test_unfinished_lines_show_on_a_terminal_each_on_a_line_of_its_own(self):
        with Job(*job(["-n", 2, "--prefix"], "show", "10%", "wait"), terminal=True) as ranks:
            ranks.wait_for("10%", 2)
            self.assertEqual(lines_of(ranks.text), ["[rank 0] 10%", "[rank 1] 10%"])
            self.assertEqual(ranks.text.count("\r\n"), 1)
            ranks.type("\x03")
            self.assertEqual(ranks.end(), 130)

    def test_mistakes_are_explained_with_the_exit_status_of_a_shell(self):
        for status, text, *words in MISTAKES:
            with self.subTest(words):
                result = finish(RONDORUN, *words)
                self.assertEqual((result.status, result.output), (status, ""))
                self.assertTrue(result.error.startswith("rondorun: "), result.error)
                self.assertIn(text, result.error)

    def test_more_ranks_than_there_are_descriptors_for_are_refused_before_any_is_started(self):
        result = finish("sh", "-c", "ulimit -n 100; exec \"$@\"", "sh", *job(["-n", 100], "show", "started"))
        self.assertEqual((result.status, result.output), (2, ""))
        self.assertRegex(result.error, r"\Arondorun: 100 ranks on .*"
                                       r"the limit is 100; start fewer ranks or raise it \(ulimit -n\)")

    def test_help_shows_examples_and_version_the_version(self):
        result = finish(RONDORUN, "--help")
        self.assertEqual(result.status, 0)
        for text in ("Usage: rondorun -n N", "--hosts", "--prefix", "--elastic", "Examples:", "Input:",
                     "0 if at least one rank ends with 0"):
            self.assertIn(text, result.output)
        self.assertTrue(finish(RONDORUN, "--version").output.startswith("rondorun "))


if __name__ == "__main__":
    unittest.main()
