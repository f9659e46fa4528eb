#!/usr/bin/env python3
"""Several nodes on this one machine: by hand, and through stand-ins for ssh."""
import unittest
from signal import SIGKILL

from support import RONDORUN, STAND_IN, job, kill, lines_of, parent_of, started

from jobs import JobTest, each, finish


class Nodes(JobTest):
    def check_refused(self, result, status, *words):
        self.assertEqual((result.status, result.output), (status, ""), result.error)
        for part in words:
            self.assertIn(part, result.error)

    def test_rondoruns_started_by_hand_make_one_world(self):
        for node in (0, 3):
            result = finish(*job(["-n", 3, "--nnodes", 4, "--node-rank", node, "--master-addr", "here",
                                  "--master-port", 29511],
                                 "environment", "RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK",
                                 "GROUP_WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))
            self.assertEqual(lines_of(result.output),
                             sorted(f"RANK={3 * node + i} WORLD_SIZE=12 LOCAL_RANK={i} GROUP_RANK={node} "
                                    "GROUP_WORLD_SIZE=4 LOCAL_WORLD_SIZE=3 MASTER_ADDR=here MASTER_PORT=29511"
                                    for i in range(3)))

    def test_this_machine_needs_no_ssh(self):
        result = finish(*job(["--hosts", "localhost:2,localhost:1", "--ssh", "false", "--prefix"],
                             "environment", "RANK", "LOCAL_RANK", "MASTER_ADDR"))
        self.assertEqual(result.status, 0, result.error)
        self.assertEqual(lines_of(result.output),
                         [f"[rank {rank}] RANK={rank} LOCAL_RANK={rank % 2} MASTER_ADDR=127.0.0.1"
                          for rank in range(3)])

    def test_what_a_login_shell_prints_does_no_harm(self):
        result = finish(*job(["--hosts", "a:1,b:1", "--ssh", STAND_IN], "environment", "RANK", "MASTER_ADDR"))
        self.assertEqual(result.error, "")
        self.assertEqual(lines_of(result.output), ["RANK=0 MASTER_ADDR=a", "RANK=1 MASTER_ADDR=a"])

    def test_the_port_that_hosts_share_can_be_listened_on(self):
        with started(1, ["--hosts", "a:2,b:2", "--ssh", STAND_IN, "--grace", 60], "peers", 0) as ranks:
            ranks.kill_rank(0)
            self.assertEqual(ranks.end(), 137)
            self.assertIn("rank 3 lost rank 0", ranks.error)
            ranks.wait_none_left()

    def test_a_host_that_cannot_be_reached_is_named_and_nothing_is_started_elsewhere(self):
        result = finish(*job(["--hosts", "localhost:1,b:1", "--ssh", "sh -c 'echo Go away; exit 5'"], "up"))
        self.check_refused(result, 1, "cannot reach host b: 'sh' exited with status 5",
                           "after it printed: Go away")

    def test_a_command_for_ssh_that_does_not_exist_is_named(self):
        self.check_refused(finish(*job(["--hosts", "b:1", "--ssh", "no-such-ssh"], "up")), 127,
                           "cannot run 'no-such-ssh'")

    @each(("and then nonsense", "garbled message 'and then nonsense'"),
          *((told, "its rondorun tells of a rank or port that it does not have")
            for told in ("ready 70000 0 0", "ready -1 0 0", "started 7 1 0", "ended 7 0 0", "ended -1 0 0",
                         "output 7 0 0", "output 0 2 0")))
    def test_a_host_that_speaks_another_language_is_refused(self, case):
        told, words = case
        babble = f"sh -c 'echo rondorun speaks 1; echo {told}; sleep 60'"
        self.check_refused(finish(*job(["--hosts", "b:1", "--ssh", babble], "up")), 1, f"host b: {words}")

    def test_a_program_that_one_host_lacks_ends_the_job_with_that_hosts_name(self):
        result = finish(RONDORUN, "--hosts", "a:2,b:2", "--ssh", STAND_IN, "no-such-program")
        self.assertEqual(result.status, 127)  # from whichever says it first
        self.assertRegex(result.error, "rondorun: host [ab]: cannot run 'no-such-program'")

    def test_a_lost_connection_ends_the_job_on_both_sides(self):
        with started(2, ["--hosts", "a:1,b:1", "--ssh", STAND_IN], "stubborn") as ranks:
            kill(parent_of(ranks.rank(1)), SIGKILL)  # it serves, as what ssh would start
            self.assertEqual(ranks.end(), 1)
            self.assertIn("rondorun: lost host b: ", ranks.error)
            ranks.wait_none_left()


if __name__ == "__main__":
    unittest.main()
