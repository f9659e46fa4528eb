#!/usr/bin/env python3
"""Ranks that do not fit together, ports that belong to others, strangers at the door."""
import pathlib
import re
import socket
import tempfile
import unittest
from signal import SIGTERM

import support
import kernel

from jobs import RANK_PROGRAM, Job, JobTest, each, failures_in, job_of
from ports import free_port

RUBBISH = [bytes(range(8)) + b"garbage\xff\xff\xff\xff", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
           b"\xff" * 100_000, b"RONDOCTL" + bytes(64)]


def rank_of(rank, ranks, port, *script, **environment):
    """One rank by itself, that meets the others at a port of this machine."""
    return Job(RANK_PROGRAM, *script, RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1",
               MASTER_PORT=str(port), **environment)


def visit(address, text):
    """A stranger says this. The other side may hang up before it has read everything: that is its right."""
    connection = socket.create_connection(address)
    try:
        connection.sendall(text)
    except OSError:
        pass
    return connection


def is_closed_by_peer(connection):
    """Waits for the other side's end of the connection, some seconds at most."""
    connection.settimeout(5)
    try:
        with connection:
            while connection.recv(4096):
                pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


class Worlds(JobTest):
    def fail_together(self, starts, port, seconds, *texts):
        """Starts ranks by hand: (rank, ranks) of each. All fail in the bootstrap, long before its usual end,
        with one of the texts. Returns the failures."""
        ranks = [rank_of(*start, port, "join", RONDO_BOOTSTRAP_TIMEOUT=str(seconds)) for start in starts]
        results = []
        for rank in ranks:
            with rank:
                results.append(rank.result())
        failures = []
        for result in results:
            self.assertEqual(result.status, 3, result)
            failures += self.check_failures(result, 1, ["Try: "], within=30, code="bootstrap").values()
            self.assertRegex(failures[-1].text, "|".join(map(re.escape, texts)))
        return failures

    def test_a_missing_rank_is_named_by_the_ranks_that_came(self):
        failures = self.fail_together([(0, 3), (1, 3)], free_port(), 6, "rank 2 of 3 did not join at port")
        self.assertEqual([failure.peer for failure in failures], [2, 2])

    def test_for_a_missing_rank_0_the_others_say_where_it_should_be(self):
        port = free_port()
        self.fail_together([(1, 3), (2, 3)], port, 1.5, f"cannot join rank 0 at 127.0.0.1, port {port}")

    def test_two_processes_of_one_rank_are_both_named(self):
        failures = self.fail_together([(0, 3), (1, 3), (1, 3)], free_port(), 4,
                                      "two processes joined as rank 1")
        self.assertIn("rank 2 of 3 did not join at port", failures[0].text)

    def test_two_rank_0s_are_told_of_the_port(self):
        self.fail_together([(0, 2), (0, 2)], free_port(), 1.5, "cannot listen on port",
                           "did not join at port")

    def test_ranks_with_different_world_sizes_are_named_with_these_sizes(self):
        failures = self.fail_together([(0, 2), (1, 3)], free_port(), 4,
                                      "counts 3 ranks in the world, but those that joined count 2")
        self.assertIn("rank 1 of 2 did not join at port", failures[0].text)
        self.assertIn("set the same WORLD_SIZE on every rank", failures[1].text)

    @each(("unset=MASTER_ADDR", "WORLD_SIZE=2 but MASTER_ADDR is not set"),
          ("unset=MASTER_PORT", "WORLD_SIZE=2 but MASTER_PORT is not set"),
          ("unset=WORLD_SIZE", "RANK=0 is set but WORLD_SIZE is not"),
          ("unset=RANK", "WORLD_SIZE=2 is set but RANK is not"),
          ("set=RANK=2", "RANK=2 is not below WORLD_SIZE=2"),
          ("set=RANK=-1", "RANK=-1 is not a whole number"),
          ("set=WORLD_SIZE=two", "WORLD_SIZE=two is not a whole number"),
          ("set=MASTER_PORT=99999", "MASTER_PORT=99999 is not a whole number"))
    def test_variables_that_are_missing_or_wrong_are_named_before_anything_else_happens(self, case):
        action, text = case
        with rank_of(0, 2, free_port(), action, "join") as rank:
            result = rank.result()
            self.assertEqual(result.status, 3)
            self.check_failures(result, 1, [text, "Try: "], code="configuration")

    def test_a_port_that_another_program_listens_on_is_named_with_what_to_set(self):
        with socket.create_server(("", 0)) as stranger:
            port = stranger.getsockname()[1]
            failures = self.fail_together([(0, 2), (1, 2)], port, 1.5, f"cannot listen on port {port}",
                                          "cannot join rank 0")
        self.assertIn("RONDO_PORT", failures[0].text)
        self.assertIn("something that is not rondo listens there", failures[1].text)

    def test_strangers_at_the_bootstrap_are_turned_away_and_logged_and_the_job_goes_on(self):
        port = free_port()
        with tempfile.TemporaryDirectory() as name:
            go, again = pathlib.Path(name) / "go", pathlib.Path(name) / "again"
            with Job(*job_of(3, ["--master-port", port], [
                    "up", f"2:wait_for_file={go}", "join", "every_collective=1000", "say=done",
                    f"wait_for_file={again}", "call=all_reduce,10"])) as job:
                job.wait_for("up ", 3)
                support.wait_for_a_hello(job, 1)
                # Beside it rank 0 listens at a port of its own, to take over one day.
                listeners = kernel.own_connections(job.rank(0), kernel.LISTENS)
                self.assertEqual(len(listeners), 2)
                bootstrap, = (place for place in listeners if place[1] == port)
                for text in RUBBISH:
                    self.assertTrue(is_closed_by_peer(visit(bootstrap, text)), text[:20])
                with visit(bootstrap, b""):  # says nothing
                    go.touch()
                    job.wait_for("done ", 3)
                self.assertTrue(is_closed_by_peer(visit(bootstrap, RUBBISH[1])))
                again.touch()
                result = job.result()
        self.assertEqual((result.status, failures_in(result.output)), (0, {}), result)
        self.assertGreaterEqual(result.error.count("dropped a connection from 127.0.0.1:"), len(RUBBISH))
        self.assertIn("HTTP", result.error)

    def test_strangers_on_a_tcp_transports_port_are_turned_away_while_the_job_runs(self):
        with Job(*job_of(2, ["--transport", "tcp", "--grace", 0.5],
                         ["up", "join", "loop=all_reduce,1000"])) as job:
            job.wait_for("turning ", 2)
            for rank in (0, 1):
                for place in kernel.own_connections(job.rank(rank), kernel.LISTENS):
                    for text in RUBBISH:
                        visit(place, text).close()
            job.wait_for_error(" to the TCP port: it ")
            self.assertEqual(failures_in(job.text), {})
            self.assertNotIn("WRONG", job.text)
            job.send_signal(SIGTERM)
            self.assertEqual(job.end(), 143)


if __name__ == "__main__":
    unittest.main()
