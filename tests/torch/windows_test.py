"""rondo.Window: puts, gets and signals, and what is refused."""

import numpy

import rondo
from python_rig import RANK, RANKS, equal, fails, main, world


def test_windows():
    for block in (numpy.zeros(10 * RANKS), rondo.empty(10 * RANKS, "float64")):
        following, previous = (RANK + 1) % RANKS, (RANK - 1) % RANKS
        with rondo.Window(world, block) as window:
            assert window.bytes(following) == 80 * RANKS
            for peer in range(RANKS):
                window.put(numpy.full(10, RANK + peer / 10), peer, first=10 * RANK)
            window.fence()
            equal(block, numpy.repeat([rank + RANK / 10 for rank in range(RANKS)], 10))
            equal(window.get(numpy.empty(10), following, first=0), numpy.full(10, following / 10))
            window.fence()   # from here on the block changes again
            window.put(numpy.array([RANK + 0.5]), following, signal=255)
            window.wait_signal(previous, 255)
            assert block[0] == previous + 0.5 and not window.test_signal(previous, 255)
            window.signal(previous)
            window.flush()
            window.wait_signal(following, count=1)
            fails(lambda: window.put(numpy.ones(10 * RANKS + 1), 0), "not in the window's block",
                  code="invalid_argument")
            fails(lambda: window.signal(0, 256), "signal 256", code="invalid_argument")
        fails(lambda: window.signal(0), "closed", "make a new one", code="invalid_usage")
    fails(lambda: rondo.Window(world.dup(), (1, 2)), code="invalid_argument")


def test_a_window_that_is_dropped_ends_its_peers_calls():
    window = rondo.Window(world, numpy.zeros(3))
    world.barrier()   # all ranks have made theirs
    if RANK == 0:
        del window
    elif RANK == 1:
        fails(lambda: window.wait_signal(0), "dropped", code="aborted")
    world.barrier()


main(globals())
