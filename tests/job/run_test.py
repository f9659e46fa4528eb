#!/usr/bin/env python3
"""Jobs that go well: real data through real processes, over each transport and a mixture."""
import pathlib
import tempfile
import unittest

import support  # noqa: F401
import kernel

from jobs import RANK_PROGRAM, Job, JobTest, each, each_transport, finish, job_of
from running import places, wait_until

# Ranks 0 and 1 say that they are on one machine, the others that they are on another.
TWO_MACHINES = ["0,1:set=RONDO_HOSTID=first", "^0,1:set=RONDO_HOSTID=second"]
SIZES = ["every_collective=0", "every_collective=1", "every_collective=1000", "every_collective=1000000",
         "overlap=3000", "split=1000"]
INSIDE, ACROSS = ("one_shot", "binomial_tree", "chain"), ("ring", "one_shot", "chain", "circulant")


class Runs(JobTest):
    def run_cleanly(self, *words, **environment):
        result = finish(*words, **environment)
        self.check_clean(result)
        return result.output

    @each(2, 3, 5, 8)
    @each_transport
    def test_every_collective_is_right_for_each_number_of_ranks_size_and_transport(self, ranks, transport):
        script = ["join", *SIZES, "every_operator=1000", "say=done"]
        output = self.run_cleanly(*job_of(ranks, ["--transport", transport], script))
        self.assertEqual(output.count("done "), ranks)

    def test_these_tests_would_notice_wrong_data(self):
        result = finish(*job_of(3, [], ["join", "1:stray", "call=all_reduce,1000"]))
        self.assertEqual((result.status, result.output.count(" is WRONG: all_reduce")), (4, 3))

    def test_each_pair_gets_the_best_transport_here_shm_within_a_machine_tcp_between(self):
        output = self.run_cleanly(*job_of(4, [], [*TWO_MACHINES, "join", "describe=1000", *SIZES]))
        self.assertEqual(output.count(" over shm+tcp") + output.count(" over tcp+shm"), 4)

    @each("0,1,2", "0,2")
    @each(*((inside, across) for inside in INSIDE for across in ACROSS))
    def test_compositions_are_right_on_hosts_of_different_sizes_numbered_in_any_order(self, first, parts):
        algorithms = (f"hierarchical({','.join(parts)}),hierarchical(linear,linear),"
                      "hierarchical(one_shot,dissemination)")
        self.run_cleanly(*job_of(5, ["--algorithm", algorithms], [
            f"{first}:set=RONDO_HOSTID=first", f"^{first}:set=RONDO_HOSTID=second", "join",
            "every_collective=0", "every_collective=1", "every_collective=50000"]))

    @each((" over shm (",), (" over tcp (", "--transport", "tcp"), (" over tcp (", "--transport", "^shm"),
          (" over tcp (", "--env", "NCCL_SHM_DISABLE=1"), ("uses ring over", "--algorithm", "ring"),
          ("uses circulant over", "--algorithm", "all_reduce:circulant"),
          ("uses double_tree over", "--env", "NCCL_ALGO=Tree"),
          ("uses ", "--algorithm", "^ring,bidirectional_ring,circulant,one_shot"))
    def test_forced_transports_and_algorithms_are_used_excluded_ones_are_not(self, case):
        expected, *options = case
        output = self.run_cleanly(*job_of(3, options, ["join", "describe=1000", "call=all_reduce,1000"]))
        self.assertEqual(output.count(expected), 3)

    def test_ranks_started_by_hand_need_no_rondorun(self):
        ranks = [Job(RANK_PROGRAM, "join", "every_collective=1000", **place) for place in places(3)]
        for rank in ranks:
            with rank:
                self.check_clean(rank.result())

    @each(0, 2)
    def test_the_bootstrap_may_be_by_a_unique_id_which_any_rank_may_have_made(self, maker):
        with tempfile.TemporaryDirectory() as folder:
            self.run_cleanly(*job_of(3, [], [f"join_by_id={maker},{folder}/id", "every_collective=1000",
                                             "split=100", "finalize"]))

    @each("join", "join_by_id=2,")
    def test_the_rank_that_serves_the_bootstrap_may_finish_first_and_waits_for_the_others(self, join):
        with tempfile.TemporaryDirectory() as folder:
            join = join if join == "join" else f"{join}{folder}/id"
            self.run_cleanly(*job_of(4, [], [join, "keep_half", "1,3:compute=50", "1,3:keep_copy",
                                             "call=all_reduce,1000"]))

    def test_one_rank_alone_needs_nobody(self):
        self.run_cleanly(RANK_PROGRAM, "join", "every_collective=1000", "split=10")

    @each_transport
    def test_a_job_leaves_nothing_no_descriptor_no_file_no_process(self, transport):
        before = kernel.shared_files()
        with tempfile.TemporaryDirectory() as folder:
            output = self.run_cleanly(*job_of(3, ["--transport", transport], ["leak_check=100000"]),
                                      TMPDIR=folder)
            self.assertEqual(output.count(" keeps 0 descriptors"), 3)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])
        stays = kernel.shared_files() - before

        def gone():
            stays.intersection_update(kernel.shared_files())
            return not stays

        self.assertTrue(wait_until(gone, 60), stays)

    @each(["finalize", "drop"], ["finalize"], ["drop"], [], ["0:compute=300", "3:compute=100"],
          ["2:compute=300", "finalize"], ["call=broadcast,100000", "1:compute=100", "call=reduce,10"])
    @each_transport
    def test_ranks_may_end_at_different_times_and_in_different_ways_without_a_word(self, end, transport):
        for _ in range(2):
            self.run_cleanly(*job_of(5, ["--transport", transport], ["join", "call=all_reduce,1000", *end]))


if __name__ == "__main__":
    unittest.main()
