#!/usr/bin/env python3
"""No memory or descriptors left to make channels: a clear error on both sides, never a hang or a crash."""
import unittest

import support  # noqa: F401

from jobs import JobTest, each, each_transport, finish, job_of

SHM = ["--transport", "shm"]
MESSAGES = [*SHM, "--algorithm", "^direct"]
LIMITED = "limit_file_size=65536"


class Shortages(JobTest):
    def check_told(self, result, ranks, code, *texts):
        self.assertEqual(result.status, 3)
        self.check_failures(result, ranks, ["Try: ", *texts], code=code)

    @each("", "0:", "1:")
    def test_no_memory_for_shared_segments_how_much_was_needed_and_what_to_set_on_both_sides(self, who):
        result = finish(*job_of(2, MESSAGES, [f"{who}{LIMITED}", "join", "call=all_reduce,1000"]))
        self.check_told(result, 2, "out_of_memory", "bytes", "RONDO_SLOT_BYTES", "RONDO_TRANSPORT=^shm")

    def test_no_memory_for_the_ranks_control_block_which_settings_need_none(self):
        result = finish(*job_of(2, SHM, [LIMITED, "join", "call=all_reduce,1000"]))
        self.check_told(result, 2, "out_of_memory", "control block", "bytes", "RONDO_ALGORITHM=^direct",
                        "RONDO_TRANSPORT=^shm")

    def test_smaller_slots_fit_into_less_memory_as_the_error_says(self):
        result = finish(*job_of(2, MESSAGES, [LIMITED, "join", "every_collective=10000"]),
                        RONDO_SLOT_BYTES="4096")
        self.assertEqual(result.status, 0, result)

    @each("", "1:")
    @each_transport
    def test_no_descriptors_left_every_rank_says_so_and_what_to_raise(self, who, transport):
        result = finish(*job_of(3, ["--transport", transport],
                                ["join", f"{who}limit_descriptors=1", "call=all_to_all,1000"]))
        self.check_told(result, 3, "system", "ulimit -n")

    def test_no_descriptors_left_for_the_bootstrap_itself(self):
        result = finish(*job_of(2, ["--grace", 1], ["1:limit_descriptors=0", "join"]),
                        RONDO_BOOTSTRAP_TIMEOUT="60")
        # It does not wait for the bootstrap to be over. The other rank may have been ended before it knows.
        output = "".join(line for line in result.output.splitlines(True) if line.startswith("rank 1 "))
        self.assertEqual(result.status, 3)
        self.check_failures(result._replace(output=output), 1, ["ulimit -n"], within=30, code="system")

    @each(*range(1, 16))
    @each_transport
    def test_wherever_the_descriptors_end_each_rank_that_is_left_has_an_error_or_ends(self, left, transport):
        result = finish(*job_of(3, ["--transport", transport], [
            f"1:limit_descriptors={left}", "join", "call=all_to_all,1000", "say=done"]))
        self.assertIn(result.status, (0, 3), result)
        self.assertEqual(result.output.count("done ") + result.output.count(" fails "), 3, result)


if __name__ == "__main__":
    unittest.main()
