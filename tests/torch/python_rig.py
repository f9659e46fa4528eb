"""A rank of the tests of `import rondo`, and what they compare with."""

import sys
import time
import traceback

import numpy

import rondo

world = rondo.from_environment(timeout=300)
RANK, RANKS = world.rank, world.size


def equal(actual, expected):
    assert numpy.array_equal(actual, expected), f"{actual}, wanted {expected}"


def fails(call, *words, code=None):
    try:
        call()
    except rondo.Error as error:
        for word in words:
            assert word in str(error), f"no '{word}' in: {error}"
        assert code in (None, error.code), f"{error.code}, wanted {code}"
        assert error.message in str(error) and (error.remedy or "") in str(error)
        return error
    raise AssertionError(f"no error with {words}")


def main(found):
    """Runs the tests among `found`: those that the command line names, or all."""
    chosen = sys.argv[1:]
    for name, test in [item for item in found.items() if item[0].startswith("test_")]:
        if chosen and name not in chosen:
            continue
        begin = time.monotonic()
        try:
            test()
        except Exception:
            traceback.print_exc()
            sys.exit(f"rank {RANK}: {name} failed")
        if RANK == 0:
            print(f"passed: {name}, {time.monotonic() - begin:.1f} s", flush=True)
    world.finalize()
