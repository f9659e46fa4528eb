#!/usr/bin/env python3
"""Ranks that die or fall silent: every other rank is told in time which one it was, and the job ends."""
import os
import pathlib
import tempfile
import unittest
from signal import SIGKILL, SIGSTOP

import support

from jobs import RANK_PROGRAM, Job, JobTest, each, each_transport, failures_in, finish, job_of
from running import places


def job_over(transport, ranks, *script, options=()):
    return job_of(ranks, [*options, "--transport", transport], script)


class Silence(JobTest):
    def check_survivors(self, result, ranks, lost, process, *texts, code="peer_lost", within=None):
        """Every rank but the lost one ended with an error that names it and its process."""
        texts = f"rank {lost} (host ", f", pid {process})", "Try: ", *texts
        return self.check_failures(result, ranks - 1, texts, within, code=code, peer=lost)

    def kill_in_time(self, lost, waits, *words):
        """Kills a rank of a job of four once it has said `waits`; the job ends in time."""
        def attempt():
            with Job(*words) as job:
                for text, count in waits:
                    job.wait_for(text, count)
                job.kill_rank(lost)
                in_time = job.ends_in_time()
                result = job.result()
                self.assertEqual((result.status, job.left()), (137, []))
                self.check_survivors(result, 4, lost, job.rank(lost))
                self.assertIn(f"rondorun: rank {lost} (pid {job.rank(lost)}, host ", result.error)
                self.assertIn(") was killed by signal 9 (SIGKILL)", result.error)
                return in_time

        self.in_time(attempt)

    @each(0, 2)
    @each_transport
    @each("loop=all_reduce,1000", "loop=all_reduce,3000000", "loop=all_to_all,100000", "loop=broadcast,70000",
          "loop_exchange=10", "loop_exchange=700000")
    def test_kill_9_of_one_of_four_ranks_ends_the_job_in_time_naming_it(self, lost, transport, work):
        self.kill_in_time(lost, [("turning ", 4)], *job_over(transport, 4, "up", "join", work))

    @each_transport
    @each("call=all_reduce,100000", "exchange=100000")
    def test_a_rank_killed_while_the_others_wait_for_it_inside_a_call_is_named(self, transport, call):
        self.kill_in_time(2, [("outside 2", 1), ("inside ", 3)],
                          *job_over(transport, 4, "up", "join", "call=barrier", "2:say=outside", "2:wait",
                                    "say=inside", call))

    @each(0, 2)
    def test_a_rank_killed_between_calls_is_named_by_the_next_call_of_each_other_rank(self, lost):
        with tempfile.TemporaryDirectory() as folder:
            go = pathlib.Path(folder) / "go"
            with Job(*job_of(4, [], ["up", "join", "call=all_reduce,10", "say=between", f"wait_for_file={go}",
                                     "call=all_reduce,10"])) as job:
                job.wait_for("between ", 4)
                job.kill_rank(lost)
                go.touch()
                result = job.result()
                self.assertEqual(result.status, 137)
                self.check_survivors(result, 4, lost, job.rank(lost))

    def test_a_rank_killed_while_the_ranks_still_meet_is_named(self):
        with Job(*job_of(4, [], ["up", "3:wait", "join"])) as job:
            job.wait_for("up ", 4)
            for rank in (0, 1, 2):
                support.wait_for_a_hello(job, rank)
            job.kill_rank(2)
            result = job.result()
            self.assertEqual(result.status, 137)
            failures = failures_in(result.output)
            for rank in (0, 1):
                self.assertEqual((failures[rank].code, failures[rank].peer), ("bootstrap", 2))
                self.assertIn("rank 2 (host ", failures[rank].text)
                self.assertIn("joined and left before all ranks had joined", failures[rank].text)

    def test_rank_0_killed_while_the_ranks_still_meet_ends_the_job(self):
        def attempt():
            with Job(*job_of(4, ["--grace", 0.2], ["up", "3:wait", "join"])) as job:
                job.wait_for("up ", 4)
                support.wait_for_a_hello(job, 1)
                job.kill_rank(0)
                in_time = job.ends_in_time()
                self.assertEqual(job.end(), 137)
                self.assertIn("rondorun: rank 0 (pid ", job.error)
                return in_time

        self.in_time(attempt)

    @each(0, 1)
    def test_ranks_without_a_launcher_learn_of_a_killed_rank_just_as_well(self, lost):
        ranks = [Job(RANK_PROGRAM, "up", "join", "loop=all_reduce,100", **place) for place in places(3)]
        for rank in ranks:
            rank.wait_for("turning ")
        os.kill(ranks[lost].pid, SIGKILL)
        for number, rank in enumerate(ranks):
            with rank:
                result = rank.result()
                self.assertEqual(result.status, 137 if number == lost else 3)
                if number != lost:
                    self.check_survivors(result, 2, lost, ranks[lost].pid)

    @each(0, 2)
    @each_transport
    def test_a_stopped_rank_is_named_when_the_deadline_has_passed(self, lost, transport):
        options = ["--timeout", 5, "--grace", 5]  # for the stopped one
        with Job(*job_over(transport, 4, "up", "join", "loop=all_reduce,1000", options=options)) as job:
            job.wait_for("turning ", 4)
            os.kill(job.rank(lost), SIGSTOP)
            result = job.result()
            self.assertEqual((result.status, job.left()), (3, []))
            for failure in self.check_survivors(result, 4, lost, job.rank(lost), "RONDO_TIMEOUT",
                                                "did not complete within 5 s", code="timeout",
                                                within=60).values():
                self.assertGreater(failure.seconds, 4.5)

    @each(0, 2)
    @each_transport
    def test_a_rank_that_computes_and_never_comes_is_named_with_what_it_did_last(self, lost, transport):
        with Job(*job_over(transport, 3, "up", "join", "call=all_reduce,1000", "timeout=3000",
                           f"{lost}:compute=60000", "call=all_reduce,1000")) as job:
            result = job.result()
            self.assertEqual(result.status, 3)
            self.check_survivors(result, 3, lost, job.rank(lost),
                                 "its last call was all_reduce #1 (1000 x float32, sum), complete",
                                 code="timeout", within=50)

    @each_transport
    def test_a_rank_that_comes_late_but_in_time_is_named_in_a_note_and_waited_for(self, transport):
        with tempfile.TemporaryDirectory() as folder:
            late = pathlib.Path(folder) / "late"
            with Job(*job_over(transport, 3, "join", "call=all_reduce,1000", f"1:wait_for_file={late}",
                               "call=all_reduce,1000000", "2:compute=500", "call=all_gather,1000")) as job:
                job.wait_for_error("waiting for rank 1")
                late.touch()
                result = job.result()
                self.assertEqual((result.status, failures_in(result.output)), (0, {}), result)

    @each_transport
    def test_work_in_the_background_and_a_big_receive_are_interrupted_by_a_death_as_well(self, transport):
        with Job(*job_over(transport, 3, "up", "join", "call=barrier", "1:say=outside", "1:wait",
                           "say=inside", "overlap=500000")) as job:
            job.wait_for("outside 1")
            job.wait_for("inside ", 2)
            job.kill_rank(1)
            result = job.result()
            self.assertEqual(result.status, 137)
            self.check_survivors(result, 3, 1, job.rank(1))

    def test_a_rank_that_ends_by_an_exception_takes_the_job_with_it_and_the_others_know_whom(self):
        with Job(*job_of(3, [], ["up", "join", "call=all_reduce,10", "1:throw=the model is bad",
                                 "call=all_reduce,10"])) as job:
            result = job.result()
            self.assertEqual(result.status, 134)
            self.check_survivors(result, 3, 1, job.rank(1))
            self.assertIn("the model is bad", result.error)
            self.assertIn("rondorun: rank 1 (pid ", result.error)

    @each("finalize", "drop", "exit=0", "_exit=0")
    def test_a_rank_that_leaves_in_order_while_others_still_call_is_named(self, way):
        result = finish(*job_of(3, [], ["join", "call=all_reduce,10", f"1:{way}", "1:exit=0",
                                        "call=all_reduce,10"]))
        self.assertEqual(result.status, 3)
        for failure in self.check_failures(result, 2, ["rank 1 (host "], peer=1).values():
            self.assertIn(failure.code, ("mismatch", "peer_lost"))

    @each_transport
    def test_a_rank_that_exits_without_leaving_harms_at_most_those_that_wait_and_is_named(self, transport):
        with Job(*job_over(transport, 5, "up", "join", "call=all_reduce,1000", "1:exit=0")) as job:
            result = job.result()
            self.check_failures(result, len(failures_in(result.output)), [
                f", pid {job.rank(1)})", "a rank that ends in order destroys its communicators first"],
                code="peer_lost", peer=1)

    def test_a_rank_that_leaves_while_others_split_is_named_at_once(self):
        # It is there until the launcher ends it, so no rank learns of it by its end.
        result = finish(*job_of(3, [], ["join", "call=barrier", "1:finalize", "^1:split=10", "1:wait"]))
        self.assertEqual(result.status, 3)
        self.check_failures(result, 2, ["rank 1 (host "], code="mismatch", peer=1)

    def test_abort_ends_the_call_of_every_rank_with_the_reason(self):
        result = finish(*job_of(3, [], ["join", "call=all_reduce,10", "2:abort=loss is not a number",
                                        "call=all_reduce,10"]))
        self.assertEqual(result.status, 3)
        self.check_failures(result, 3, ["loss is not a number"], code="aborted")


if __name__ == "__main__":
    unittest.main()
