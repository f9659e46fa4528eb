#!/usr/bin/env python3
"""Settings as a user makes them: right ones work, wrong ones are refused with the right ones listed."""
import os
import pathlib
import tempfile
import unittest

import support  # noqa: F401

from jobs import JobTest, each, each_transport, finish, job_of

CALL = ["join", "call=all_reduce,100"]
WRONG = [
    ("RONDO_TIMEOUTT=5", "RONDO_TIMEOUTT", "did you mean RONDO_TIMEOUT?", "RONDO_ALGORITHM"),
    ("RONDO_COLOR=red", "RONDO_COLOR", "RONDO_DEBUG, ", "RONDO_TRANSPORT"),
    ("RONDO_TIMEOUT=soon", "RONDO_TIMEOUT=soon", "<seconds>", "default 300"),
    ("RONDO_SLOT_BYTES=64Q", "RONDO_SLOT_BYTES=64Q", "64K"),
    ("RONDO_LINK_COSTS=network_alpha=20us", "\"network_alpha=20us\", which is not", "8e-11"),
    ("RONDO_LINK_COSTS=gamma=0", "\"gamma=0\", which is not", "at most 1"),
    ("RONDO_LINK_COSTS=gamma=1e-10,beta=1", "\"beta=1\"", "memory_alpha, memory_beta, "),
    ("RONDO_SOCKETS=99", "RONDO_SOCKETS=99", "between 1 and 16"),
    ("RONDO_DEBUG=loud", "RONDO_DEBUG=loud", "INFO"),
    ("RONDO_DEBUG_SUBSYS=TEA", "RONDO_DEBUG_SUBSYS=TEA", "INIT, COLL", "<INIT,NET or ^TUNING>"),
    ("RONDO_SOCKET_FAMILY=6", "RONDO_SOCKET_FAMILY=6", "neither AF_INET nor AF_INET6"),
    ("RONDO_TRANSPORT=infiniband", "'infiniband'", "local, shm, verbs, tcp"),
    ("RONDO_TRANSPORT=^shm,tpc", "'tpc'", "local, shm, verbs, tcp"),
    ("RONDO_ALGORITHM=quick", "'quick'", "bidirectional_ring", "two_shot"),
    ("RONDO_ALGORITHM=all_reduce:linear", "'linear'", "double_tree"),
    ("RONDO_ALGORITHM=sum:ring", "\"sum\"", "all_reduce, reduce_scatter"),
]
# Options, what a rank does first, texts.
NOTHING_LEFT = [
    ("--transport", "shm", "1:set=RONDO_HOSTID=elsewhere", "no transport reaches the peer",
     "shm: the ranks are on different machines", "tcp: not allowed by RONDO_TRANSPORT"),
    ("--transport", "^shm,tcp", "", "no transport reaches the peer", "shm: not allowed by RONDO_TRANSPORT",
     "local: the ranks are not threads of one process"),
    ("--transport", "tcp", "set=RONDO_SOCKET_IFNAME=nonsense",
     "no network interface fits RONDO_SOCKET_IFNAME=nonsense", "lo ("),
    ("--algorithm", "all_to_all:^pairwise,linear,bruck,direct", "",
     "the algorithm selection leaves none for all_to_all", "rondo list"),
]


def setting(text):
    """NAME=VALUE as keyword arguments."""
    name, _, value = text.partition("=")
    return {name: value}


class Settings(JobTest):
    def check_refused(self, result, *texts):
        self.assertEqual(result.status, 3)
        self.check_failures(result, 2, texts, code="configuration")

    def run_well(self, *words, **environment):
        result = finish(*words, **environment)
        self.assertEqual(result.status, 0, result)
        return result

    @each(*WRONG)
    def test_a_wrong_one_is_an_error_on_every_rank_that_lists_the_known_values(self, case):
        wrong, *texts = case
        self.check_refused(finish(*job_of(2, [], CALL), **setting(wrong)), "Try: ", *texts)

    @each(*NOTHING_LEFT)
    def test_those_that_leave_no_transport_or_algorithm_are_an_error_that_tells_why(self, case):
        option, value, first, *texts = case
        script = [*first.split(), "join", "call=all_to_all,100"]
        self.check_refused(finish(*job_of(2, [option, value], script)), *texts)

    def test_nccls_that_rondo_lacks_give_each_process_one_warning_and_the_job_goes_on(self):
        result = self.run_well(*job_of(2, [], [*CALL, "split=10", "drop"]), NCCL_NVLS_ENABLE="1",
                               NCCL_PROTO="LL", NCCL_IB_DISABLE="1")
        self.assertEqual(result.trouble.count("\n"), 2)
        self.assertEqual(result.error.count("rondo has no counterpart for NCCL_NVLS_ENABLE, NCCL_PROTO"), 2)

    def test_rank_0s_hold_for_all_and_a_rank_that_has_others_says_so(self):
        result = self.run_well(*job_of(3, [], ["0:set=RONDO_TRANSPORT=tcp", "join", "describe=1000",
                                               "every_collective=1000"]))
        self.assertEqual(result.output.count(" over tcp ("), 3)
        self.assertEqual(result.error.count("settings differ from rank 0's"), 2)

    def test_rank_0_decides_whether_there_is_a_trace_but_not_where_others_write_theirs(self):
        with tempfile.TemporaryDirectory() as name:
            there, here = pathlib.Path(name) / "there", pathlib.Path(name) / "here"
            there.mkdir()
            here.mkdir()
            self.run_well(*job_of(2, [], [f"0:set=RONDO_TRACE={there}/of_job", *CALL]), cwd=here)
            self.assertEqual([os.listdir(there), os.listdir(here)], [["of_job.0"], ["of_job.1"]])

    def test_link_costs_decide_which_algorithm_carries_calls_between_hosts_rank_0s_hold(self):
        def result_with(who, costs, hierarchical):
            result = self.run_well(*job_of(4, [], [
                "0,1:set=RONDO_HOSTID=first", "2,3:set=RONDO_HOSTID=second",
                f"{who}set=RONDO_LINK_COSTS={costs}", "join", "describe=1000", "every_collective=1000"]))
            self.assertEqual(result.output.count("uses hierarchical("), hierarchical)
            return result

        slow_memory = "memory_alpha=0.1,memory_beta=1e-6"
        self.check_clean(result_with("", "memory_alpha=1e-7,memory_beta=1e-11", 4))
        result_with("", slow_memory, 0)
        of_rank_0 = result_with("0:", slow_memory, 0)
        self.assertEqual(of_rank_0.error.count("settings differ from rank 0's"), 3)
        result_with("1:", slow_memory, 4)

    @each("RONDO_SLOT_BYTES=1", "RONDO_SLOT_BYTES=100", "RONDO_SLOT_BYTES=1M", "RONDO_SOCKETS=3")
    @each_transport
    def test_odd_sizes_of_buffers_and_several_sockets_still_give_right_results(self, odd, transport):
        script = ["join", "every_collective=1000", "every_collective=100000"]
        self.check_clean(finish(*job_of(3, ["--transport", transport], script), **setting(odd)))

    def test_debug_info_tells_what_is_used_in_a_file_when_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            words = job_of(2, ["--debug", "info"], CALL)
            self.check_clean(finish(*words, RONDO_DEBUG_FILE=f"{folder}/log.%p"))
            logs = list(pathlib.Path(folder).iterdir())
            self.assertEqual(len(logs), 2)
            for log in logs:
                self.assertIn("2 ranks by torchrun", log.read_text())

    @each(("RONDO_DEBUG_SUBSYS=ALL", True, True), ("RONDO_DEBUG_SUBSYS=TUNING", False, True),
          ("NCCL_DEBUG_SUBSYS=INIT,ENV", True, False), ("NCCL_DEBUG_SUBSYS=^INIT", False, True),
          ("NCCL_DEBUG_SUBSYS=COLL", False, False))
    def test_debug_subsys_leaves_lines_of_the_log_out(self, case):
        subsystems, tells_start, tells_choice = case
        error = self.run_well(*job_of(2, ["--debug", "info"], CALL), **setting(subsystems)).error
        self.assertEqual(["2 ranks by torchrun" in error, "a communicator of 2 ranks" in error,
                          "INFO  all_reduce" in error], [tells_start, tells_start, tells_choice], error)

    def test_an_unknown_subsystem_is_a_warning_by_nccls_name_and_all_are_logged(self):
        error = self.run_well(*job_of(1, ["--debug", "info"], ["join"]), NCCL_DEBUG_SUBSYS="INIT,TEA").error
        self.assertEqual(error.count("rondo has no counterpart for NCCL_DEBUG_SUBSYS=INIT,TEA"), 1)
        self.assertIn("INFO  ", error)

    @each("AF_INET", "AF_INET6")
    def test_a_job_on_this_machines_ipv4_or_ipv6_addresses(self, family):
        addresses = pathlib.Path("/proc/net/if_inet6")
        if family == "AF_INET6" and not (addresses.exists() and " lo\n" in addresses.read_text()):
            self.skipTest("no ::1 here")
        with tempfile.TemporaryDirectory() as folder:
            result = finish(*job_of(2, ["--transport", "tcp"],
                                    [f"join_by_id=1,{folder}/id", "every_collective=10000", "say=done"]),
                            NCCL_SOCKET_FAMILY=family, NCCL_SOCKET_IFNAME="lo")
            self.check_clean(result)
            self.assertEqual(result.output.count("done "), 2)


if __name__ == "__main__":
    unittest.main()
