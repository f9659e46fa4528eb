#!/usr/bin/env python3
"""Runs PyTorch's own tests of process groups, as far as its wheel has them, on rondo.

    tests/torch/pytorchs_own_tests.py [--ranks 4] [--all] [NAME...]

The wheel has the tests as a module, which asks for the backend's name when it is imported. It gets gloo,
so that it defines the tests for CPUs. Before the first test starts, the name is replaced by one that says
rondo and is equal to gloo. --all also runs the tests that are left out below. The last lines say how many
tests passed, were skipped and were left out, with the reasons.
"""

import argparse
import collections
import os
import sys
import tempfile
import time
import unittest

ANY_SOURCE = "recv from any rank is refused: messages match by their sender"
WORDS = "passes but for the words: the error must be in gloo's"
LEFT_OUT = {
    "test_send_recv_any_source": ANY_SOURCE,
    "test_send_recv_any_source_autograd_profiler": ANY_SOURCE,
    "test_send_recv_any_source_torch_profiler": ANY_SOURCE,
    "test_sparse_all_reduce_sum": "sparse tensors are refused",
    "test_ddp_logging_data_cpu": "DDP's log calls every backend that is not torch's own 'custom'",
    "test_barrier_timeout_full_group": WORDS,
    "test_monitored_barrier_gloo": WORDS,
    "test_monitored_barrier_gloo_subgroup": WORDS,
    "test_monitored_barrier_gloo_rank_0_timeout": WORDS,
}


class Name(str):
    """A backend's name that is also equal to \"gloo\"."""

    def __eq__(self, other):
        return str(self) == str(other) or other == "gloo"

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4, help="processes of each test (default 4)")
    parser.add_argument("--all", action="store_true", help="also those that are left out")
    parser.add_argument("names", nargs="*", help="only these tests")
    return parser.parse_args()


def read_module(ranks, folder):
    """torch's module of tests, set to rondo."""
    os.environ.update(BACKEND="gloo", WORLD_SIZE=str(ranks), TEMP_DIR=folder, OMP_NUM_THREADS="1",
                      DISTRIBUTED_TESTS_DEFAULT_TIMEOUT="600")
    from torch.testing._internal import common_distributed
    from torch.testing._internal.distributed import distributed_test
    distributed_test.BACKEND = Name("rondo")
    distributed_test.CUSTOM_PG_TIMEOUT.clear()  # 5 s for tests that need GPUs; ranks may come later
    for backends in common_distributed.DistTestCases.backend_feature.values():
        backends.add("rondo")
    return distributed_test


def begin_alone(test):
    """Runs a test without a job, in a process of its own. A test that PyTorch skips says so before it
    needs other ranks; all others fail, or do not matter."""
    from torch.testing._internal.common_distributed import TEST_SKIPS
    test.rank, code = 0, 0
    try:
        getattr(test, test._testMethodName)()
    except unittest.SkipTest:
        code = TEST_SKIPS["generic"].exit_code
    except SystemExit as end:
        code = end.code
    except BaseException:
        pass
    os._exit(code if isinstance(code, int) else 0)


def tests_of(module):
    import torch
    from torch.testing._internal.common_distributed import TEST_SKIPS
    fork = torch.multiprocessing.get_context("fork").Process

    class OnRondo(module.TestDistBackend, module.DistributedTest._DistTestBase):
        """Forks its ranks, which have imported torch already."""

        def setUp(self):
            super().setUp()
            self.skip_if_pytorch_does()
            self._start_processes(fork)

        def skip_if_pytorch_does(self):
            """Half of the tests need GPUs: ranks that meet only to skip them would take a minute."""
            alone = fork(target=begin_alone, args=(self,))
            alone.start()
            alone.join(60)
            alone.kill()
            for skip in TEST_SKIPS.values():
                if alone.exitcode == skip.exit_code:
                    raise unittest.SkipTest(skip.message)

    return OnRondo


class Results(unittest.TextTestResult):
    """Prints each test's result and time at once."""

    def startTest(self, test):
        self.begin = time.monotonic()
        unittest.TestResult.startTest(self, test)

    def say(self, word, test):
        print(f"{word:7} {time.monotonic() - self.begin:5.1f} s  {test._testMethodName}", flush=True)

    def addSuccess(self, test):
        self.say("passed", test)

    def addSkip(self, test, reason):
        unittest.TestResult.addSkip(self, test, reason)

    def addFailure(self, test, error):
        self.say("FAILED", test)
        unittest.TestResult.addFailure(self, test, error)

    def addError(self, test, error):
        self.say("FAILED", test)
        unittest.TestResult.addError(self, test, error)


def report(result, left_out):
    for test, text in result.failures + result.errors:
        print(f"\n{test._testMethodName}:\n{text}")
    reasons = collections.Counter(reason for _, reason in result.skipped)
    failed = len(result.failures) + len(result.errors)
    print(f"\n{result.testsRun - failed - len(result.skipped)} passed, {failed} failed, "
          f"{len(result.skipped)} skipped by PyTorch:")
    for reason, count in reasons.most_common():
        print(f"{count:5}  {reason}")
    print(f"{len(left_out)} left out:")
    for name in left_out:
        print(f"       {name}: {LEFT_OUT[name]}")
    return 1 if failed or not result.testsRun else 0


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        test_class = tests_of(read_module(options.ranks, folder))
        names = options.names or unittest.defaultTestLoader.getTestCaseNames(test_class)
        left_out = [] if options.all else [name for name in names if name in LEFT_OUT]
        suite = unittest.TestSuite(test_class(name) for name in names if name not in left_out)
        result = Results(sys.stdout, descriptions=False, verbosity=0)
        suite.run(result)
        return report(result, left_out)


if __name__ == "__main__":
    sys.exit(main())
