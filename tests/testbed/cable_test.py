#!/usr/bin/env python3
"""Jobs of nodes that were started by hand, and cables that are pulled and plugged in again meanwhile."""
import contextlib
import pathlib
import tempfile

from support import Hosts, main

from jobs import JobTest, failures_in
from running import CLOCK

SECRET = {"RONDO_SECRET": "known to both nodes"}


class Cables(JobTest):
    def check_timeouts(self, results, ranks, *texts):
        """All ranks of these jobs have ended so. Returns the failures."""
        found = {}
        for result in results:
            self.assertEqual(result.status, 3, result)
            found |= self.check_failures(result, ranks, ["Try: ", *texts], code="timeout")
        return found

    def run_nodes(self, script, *environments):
        with contextlib.ExitStack() as stack:
            hosts = stack.enter_context(Hosts(2, 2))
            nodes = [stack.enter_context(hosts.node(host, script, **environment))
                     for host, environment in enumerate(environments)]
            return [node.result() for node in nodes]

    def test_two_hosts_by_hand_shared_memory_within_each_tcp_between_them(self):
        script = ["join", "describe=1000", "every_collective=0", "every_collective=1000",
                  "every_collective=1000000", "overlap=3000", "split=1000", "say=done"]
        for result in self.run_nodes(script, SECRET, SECRET):
            self.check_clean(result)
            self.assertEqual(result.output.count("done "), 2)
            self.assertEqual(result.output.count("over shm+tcp") + result.output.count("over tcp+shm"), 2)

    def test_a_job_of_several_hosts_without_a_secret_says_once_that_it_is_open(self):
        first, second = self.run_nodes(["join", "say=done"], {}, {})
        self.assertEqual((first.status, second.status, second.trouble), (0, 0, ""))
        self.assertEqual(first.error.count("this job has no secret: whoever reaches its ports can join"), 1)

    def test_hosts_with_different_secrets_do_not_meet_and_each_says_why(self):
        first, second = self.run_nodes(["join"], *(
            {"RONDO_BOOTSTRAP_TIMEOUT": "3", "RONDO_SECRET": f"the one of the {which}"}
            for which in ("first", "second")))
        self.assertEqual((first.status, second.status), (3, 3))
        self.assertIn("ranks 2, 3 of 4 did not join", first.output + first.error)
        self.assertIn("the service there has another secret: it is another job's, or RONDO_SECRET differs",
                      second.output + second.error)

    def test_hosts_that_reach_each_other_go_on_without_one_that_is_cut_off_which_does_not(self):
        """Host 0 has the coordinator. The host without a cable is in the minority, and must not go on."""
        with contextlib.ExitStack() as stack:
            nodes = []
            for lost in (0, 2):
                hosts = stack.enter_context(Hosts(1, 1, 1))
                script = ["up", "join", "survive=10000,2"]
                of_job = [stack.enter_context(hosts.node(host, script, "--timeout", 8, **SECRET))
                          for host in range(3)]
                for node in of_job:
                    node.wait_for("turning ")
                hosts.cut(lost)
                nodes += [(node, host == lost) for host, node in enumerate(of_job)]
            for node, is_cut_off in nodes:
                result = node.result()
                self.assertEqual(result.status, 3 if is_cut_off else 0, result)
                self.assertIn("the ranks cannot agree: " if is_cut_off else "2 ranks go on", result.output)

    def test_a_pulled_cable_is_an_error_on_both_hosts_in_time_naming_the_other_side(self):
        script = ["up", "join", "loop=all_reduce,10000"]
        with Hosts(2, 2) as hosts, hosts.node(0, script, "--timeout", 8, **SECRET) as first, \
                hosts.node(1, script, "--timeout", 8, **SECRET) as second:
            for node in (first, second):
                node.wait_for("turning ", 2)
            begin = CLOCK.now()
            hosts.cut(1)
            failures = self.check_timeouts([first.result(), second.result()], 2)
            self.assertLess(CLOCK.now() - begin, 60)
            self.assertEqual({rank: failure.peer // 2 for rank, failure in failures.items()},
                             {0: 1, 1: 1, 2: 0, 3: 0})

    def test_a_pulled_cable_of_the_data_alone_is_found_long_before_the_deadline(self):
        """Each host's ranks speak with the coordinator by the other cable, so nobody is missed there."""
        with Hosts(1, 1, interfaces=2) as hosts, \
                hosts.job(["join", "loop=all_reduce,1000000"], "--timeout", 300,
                          RONDO_SOCKET_IFNAME="=eth1") as job:
            job.wait_for("turning ", 2)
            hosts.cut(1, 1)
            result = job.result()
            ranks = len(failures_in(result.output))
            self.assertGreater(ranks, 0)
            self.check_timeouts([result], ranks, "the path of the TCP connection to the peer is broken: ")

    def test_of_three_hosts_the_one_that_is_cut_off_is_named_by_all_others(self):
        with Hosts(1, 1, 1) as hosts, \
                hosts.job(["join", "loop=all_reduce,1000000"], "--timeout", 8, "--grace", 10) as job:
            job.wait_for("turning ", 3)
            hosts.cut(1)
            failures = self.check_timeouts([job.result()], 3)
            self.assertEqual((failures[0].peer, failures[2].peer), (1, 1))
            self.assertIn("(host h1, ", failures[2].text)
            self.assertIn(failures[1].peer, (0, 2))

    def test_a_cable_that_is_plugged_in_again_in_time_only_costs_time(self):
        with tempfile.TemporaryDirectory() as name:
            unplugged = pathlib.Path(name) / "unplugged"
            script = ["join", "call=all_reduce,1000", "say=ready", f"wait_for_file={unplugged}",
                      "say=calling", "call=all_reduce,100000", "every_collective=1000"]
            with Hosts(2, 2) as hosts, hosts.node(0, script, "--timeout", 20, **SECRET) as first, \
                    hosts.node(1, script, "--timeout", 20, **SECRET) as second:
                for node in (first, second):
                    node.wait_for("ready ", 2)
                hosts.cut(1)
                unplugged.touch()
                for node in (first, second):
                    node.wait_for("calling ", 2)
                hosts.run("mend", "h1")
                self.assertEqual((first.end(), second.end()), (0, 0))


if __name__ == "__main__":
    main()
