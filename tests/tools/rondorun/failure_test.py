#!/usr/bin/env python3
"""What rondorun does when ranks fail and when the user interferes: it tells, ends, leaves nothing."""
import pathlib
import re
import tempfile
import unittest
from signal import SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGSTOP, SIGTERM, SIGUSR1, SIGUSR2

from support import RONDORUN, STAND_IN, job, kill, parent_of, started, state_of

from jobs import Job, JobTest, each, finish

# All places where ranks can run, with four ranks.
PLACEMENTS = (["-n", 4, "--elastic"], ["--hosts", "localhost:2,localhost:2", "--elastic"],
              ["--hosts", "a:2,b:2", "--ssh", STAND_IN, "--elastic"])


def name_of(ranks, rank):
    return f"rondorun: rank {rank} (pid {ranks.rank(rank)}, host "


class Failures(JobTest):
    def check_end(self, ranks, status, error=""):
        self.assertEqual((ranks.end(), ranks.error, ranks.left()), (status, error, []))

    def test_a_killed_rank_ends_the_job_in_under_5_seconds_even_if_the_others_are_stubborn(self):
        def attempt():
            with started(4, ["-n", 4], "stubborn") as ranks:
                ranks.kill_rank(2)
                in_time = ranks.ends_in_time()
                self.assertEqual(ranks.end(), 137)
                self.assertEqual(ranks.left(), [])
                self.assertIn(name_of(ranks, 2), ranks.error)
                self.assertIn(") was killed by signal 9 (SIGKILL); ending the others\n", ranks.error)
                return in_time

        self.in_time(attempt)

    def test_ranks_that_fail_in_the_same_way_are_named_together(self):
        with started(4, ["-n", 4], "stubborn") as ranks:
            supervisor = parent_of(ranks.rank(0))
            kill(supervisor, SIGSTOP)  # so that it sees their ends at once
            ranks.wait_until(lambda: state_of(supervisor) == "T", "the launcher's stop")
            for rank in (3, 2, 1, 0):
                ranks.kill_rank(rank)
            kill(supervisor, SIGCONT)
            self.assertEqual(ranks.end(), 137)
            together = re.search(r"after that ranks ([\d, ]+) were killed by signal 9 ", ranks.error)[1]
            self.assertIn(together, ("0, 1, 2", "0, 1, 3", "0, 2, 3", "1, 2, 3"))

    def test_the_first_failures_status_is_the_jobs(self):
        result = finish(*job(["-n", 4], "leave", 7, 3))
        self.assertEqual(result.status, 7)
        self.assertRegex(result.error, r"rondorun: rank 3 \(pid .*\) exited with status 7; ending the others")
        crash = finish(*job(["-n", 1], "crash"))
        self.assertEqual(crash.status, 134)
        self.assertIn(") was killed by signal 6 (SIGABRT", crash.error)

    def test_a_rank_that_exits_with_success_leaves_the_others_running(self):
        with started(2, ["-n", 3], "leave", 0, 1) as ranks:
            ranks.wait_until(lambda: len(ranks.left()) == 4, "one rank's end")
            ranks.send_signal(SIGTERM)
            self.check_end(ranks, 143)

    def test_ranks_that_see_their_peer_vanish_have_time_to_say_so_and_are_not_blamed(self):
        with started(1, ["-n", 4, "--grace", 60], "peers", 2) as ranks:
            ranks.kill_rank(2)
            self.assertEqual(ranks.end(), 137)
            for words in [*(f"rank {rank} lost rank 2\n" for rank in (0, 1, 3)), "rondorun: rank 2 (pid ",
                          "was killed by signal 9 (SIGKILL)", " exited with status 3\n"]:
                self.assertIn(words, ranks.error)
            self.assertEqual(ranks.left(), [])

    @each(SIGTERM, SIGINT, SIGHUP)
    def test_signals_are_passed_on(self, last):
        with started(2, ["-n", 2], "polite") as ranks:
            for number in (SIGUSR1, SIGUSR2):
                ranks.send_signal(number)
                ranks.wait_for(f" got {number:d}\n", 2)
            ranks.send_signal(last)
            self.check_end(ranks, 0)
            for rank in (0, 1):
                self.assertIn(f"rank {rank} got {last:d}\n", ranks.text)

    def test_ranks_that_die_of_the_signal_give_its_status(self):
        with started(2, ["-n", 2], "up") as ranks:
            ranks.send_signal(SIGINT)
            self.check_end(ranks, 130)

    def test_ranks_that_ignore_the_signal_are_killed_after_the_grace_time(self):
        with started(2, ["-n", 2, "--grace", 0.2], "stubborn") as ranks:
            ranks.send_signal(SIGTERM)
            self.assertEqual((ranks.end(), ranks.left()), (143, []))

    def test_a_second_ctrl_c_kills_at_once(self):
        def interrupted():
            ranks.send_signal(SIGINT)
            return not ranks.left()

        with started(2, ["-n", 2, "--grace", 1000], "stubborn", terminal=True) as ranks:
            ranks.type("\x03")
            ranks.type("\x03")
            # Two of them may count as one while the first is pending.
            ranks.wait_until(interrupted, "the end")
            self.assertEqual(ranks.end(), 130)

    def test_stopping_stops_the_ranks_continuing_continues_them(self):
        with started(2, ["-n", 2], "polite", terminal=True) as ranks:
            ranks.type("\x1a")
            processes = [ranks.pid, ranks.rank(0), ranks.rank(1)]
            ranks.wait_until(lambda: {state_of(process) for process in processes} == {"T"}, "the stop")
            ranks.send_signal(SIGCONT)
            ranks.send_signal(SIGUSR1)
            ranks.wait_for(" got ", 2)
            ranks.send_signal(SIGTERM)
            self.assertEqual(ranks.end(), 0)

    @each("front", "supervisor", "both")
    def test_when_rondorun_is_killed_no_process_is_left_wherever_it_hides(self, who):
        with started(2, ["-n", 2], "daemon", "stay") as ranks:
            self.assertEqual(len(ranks.left()), 6)  # front, supervisor, and twice a rank and its own child
            supervisor = parent_of(ranks.rank(0))
            self.assertEqual(parent_of(supervisor), ranks.pid)
            if who == "both":
                ranks.send_signal(SIGSTOP)  # cannot react before it is killed as well
            if who != "front":
                kill(supervisor, SIGKILL)
            if who != "supervisor":
                ranks.send_signal(SIGKILL)
            if who == "both":
                # The ranks die with their parent. Nobody is left to look for processes that hid.
                ranks.wait_until(lambda: len(ranks.left()) <= 2, "the ranks' end")
            else:
                ranks.wait_none_left()
                self.assertEqual(ranks.end(), 137)

    def test_what_a_rank_leaves_behind_is_ended_with_the_job(self):
        result = finish(*job(["-n", 2, "--grace", 0.2], "daemon", "leave"))
        self.assertEqual((result.status, result.error), (0, ""))

    def test_a_reader_that_goes_away_ends_the_job_as_it_ends_any_program(self):
        reads_once = f"{RONDORUN} \"$@\" | head -n 1; exit ${{PIPESTATUS[0]}}"
        words = job(["-n", 2], "flood", 200_000)[1:]
        self.assertEqual(finish("bash", "-c", reads_once, "bash", *words).status, 141)

    def test_children_of_the_shell_that_became_rondorun_are_spared(self):
        with Job("sh", "-c", f"sleep 1000 & echo up 0 $!; exec {RONDORUN} -n 2 true") as shell:
            shell.wait_for("\n")
            spared = shell.rank(0)
            shell.wait_until(lambda: shell.left() == [spared], "the job's end")
            kill(spared, SIGKILL)
            self.assertEqual(shell.end(), 0)

    def test_nothing_is_left_in_the_folder_of_the_job(self):
        with tempfile.TemporaryDirectory() as folder:
            with started(2, ["-n", 2], "up", cwd=folder, TMPDIR=folder) as ranks:
                ranks.kill_rank(0)
                self.assertEqual(ranks.end(), 137)
                self.assertEqual(list(pathlib.Path(folder).iterdir()), [])


class Elastic(JobTest):
    """Ranks that fail do not end the job."""

    @each(*PLACEMENTS)
    def test_it_goes_on_when_ranks_are_killed_and_succeeds_if_one_rank_does(self, placement):
        with started(4, placement, "polite") as ranks:
            for victim, left in ((2, 3), (0, 2)):
                ranks.kill_rank(victim)
                ranks.wait_for_error(name_of(ranks, victim))
                ranks.wait_for_error(f") was killed by signal 9 (SIGKILL); {left} ranks are left\n")
            ranks.send_signal(SIGUSR1)
            for rank in (1, 3):
                ranks.wait_for(f"rank {rank} got {SIGUSR1:d}")
            for rank in (1, 3):
                kill(ranks.rank(rank), SIGTERM)
            self.assertEqual(ranks.end(), 0)
            ranks.wait_none_left()

    @each(*PLACEMENTS)
    def test_without_a_rank_that_succeeds_it_has_the_first_failures_status(self, placement):
        with started(4, placement, "up") as ranks:
            kill(ranks.rank(3), SIGUSR1)
            ranks.wait_for_error("3 ranks are left\n")
            for rank in (0, 1, 2):
                ranks.kill_rank(rank)
            self.assertEqual(ranks.end(), 128 + SIGUSR1)
            for rank in (0, 1, 2):
                self.assertIn(f"rondorun: rank {rank} (pid ", ranks.error)
            ranks.wait_none_left()

    def test_it_names_every_rank_that_fails_after_another(self):
        with started(1, ["-n", 4, "--elastic"], "peers", 2) as ranks:
            ranks.kill_rank(2)
            self.assertEqual(ranks.end(), 137)
            for words in ("was killed by signal 9 (SIGKILL)", *(f"rank {rank} (pid " for rank in (0, 1, 3))):
                self.assertIn(words, ranks.error)

    def test_an_interrupted_one_has_the_signals_status_as_others_have(self):
        with started(2, ["-n", 3, "--elastic"], "leave", 7, 1) as ranks:
            ranks.wait_for_error("exited with status 7; 2 ranks are left\n")
            ranks.send_signal(SIGINT)
            self.assertEqual((ranks.end(), ranks.left()), (130, []))

    def test_it_goes_on_without_a_host_that_is_lost_and_names_its_ranks(self):
        with started(3, ["--hosts", "a:1,b:2", "--ssh", STAND_IN, "--elastic"], "polite") as ranks:
            kill(parent_of(ranks.rank(1)), SIGKILL)  # it serves, as what ssh would start
            ranks.wait_for_error("rondorun: lost host b: ")
            ranks.wait_for_error(", and ranks 1, 2 with it; 1 rank is left\n")
            kill(ranks.rank(0), SIGTERM)
            self.assertEqual(ranks.end(), 0)
            ranks.wait_none_left()

    @each(["--hosts", "a:1,b:1", "--ssh", STAND_IN], ["-n", 2])
    def test_it_still_ends_where_a_rank_cannot_be_started(self, options):
        self.assertEqual(finish(RONDORUN, *options, "--elastic", "no-such-program").status, 127)


if __name__ == "__main__":
    unittest.main()
