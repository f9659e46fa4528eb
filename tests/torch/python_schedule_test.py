"""`rondo.schedule`: collectives that a function describes."""

import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy

import rondo
from python_rig import equal, fails, main
from rondo import schedule


def ring(rank, ranks):
    """As tools/examples/schedules/ring.schedule."""
    following, before = (rank + 1) % ranks, (rank - 1) % ranks
    for i in range(1, ranks):
        own = (rank - i - 1) % ranks
        sent, into = schedule.scratch(0), schedule.output if i == ranks - 1 else schedule.scratch(0)
        yield schedule.round(i, "reduce-scatter")
        yield schedule.send((schedule.input if i == 1 else sent)[(rank - i) % ranks], following)
        yield schedule.receive_reduce(before, schedule.input[own], into[own])
    for i in range(1, ranks):
        yield schedule.round(i, "all-gather")
        yield schedule.send(schedule.output[(rank - i + 1) % ranks], following)
        yield schedule.receive(before, schedule.output[(rank - i) % ranks])


def line(rank, ranks, root):
    """As in the documentation of rondo.schedule."""
    place = (rank - root) % ranks
    if place == 0:
        yield schedule.copy(schedule.input[0], schedule.output[0])
    else:
        yield schedule.round(place)
        yield schedule.receive((rank - 1) % ranks, schedule.output[0])
    if place < ranks - 1:
        yield schedule.round(place + 1)
        yield schedule.send(schedule.output[0], (rank + 1) % ranks)


def on_threads(ranks, folder, body):
    """body(world) on a thread for each rank. What they return, by rank."""
    with ThreadPoolExecutor(ranks) as pool:
        return list(pool.map(body, rondo.from_threads(ranks, schedules=folder)))


def test_a_schedule_of_ones_own_serves_every_root():
    made = schedule.Schedule("broadcast", line, ranks=3, name="line").verify()
    assert made.draw(root=1).splitlines()[1:] == ["1      .       0>2     .", "2      .       .       0>0"]

    def broadcast(world):
        assert "line" in world.describe("broadcast", 1000, "float64"), "the choice"
        for root in range(3):
            array = numpy.arange(1000.0) + world.rank
            world.broadcast(array, root=root)
            equal(array, numpy.arange(1000.0) + root)

    with tempfile.TemporaryDirectory() as folder:
        made.save(f"{folder}/line.schedule")
        on_threads(3, folder, broadcast)


def test_a_schedule_of_ones_own():
    made = schedule.Schedule("all_reduce", ring, ranks=3, name="own_ring", parts=3).verify()
    assert made.draw().splitlines()[:3] == ["round  rank 0  rank 1  rank 2", "reduce-scatter",
                                            "1      2>1     0>2     1>0"], made.draw()
    with tempfile.TemporaryDirectory() as folder:
        made.save(f"{folder}/own.schedule")

        def all_reduce(world):
            assert "own_ring" in world.describe("all_reduce", 1000, "float64"), "the choice"
            array = numpy.arange(1000.0) + 10 * world.rank
            world.all_reduce(array)
            equal(array, 3 * numpy.arange(1000.0) + 30)

        on_threads(3, folder, all_reduce)

    def sends(chunk, times=1):
        steps = times * [schedule.send(schedule.input[chunk], 0)]
        return schedule.Schedule("all_gather", lambda rank, ranks: steps, 2, "wrong", parts=times)

    fails(sends(0).verify, "text() is wrong for 2 ranks: rank 0 lane 0 step 0 (round 1, line 8): ",
          code="invalid_argument")
    fails(sends(7).verify, "text():8:14: expected a chunk, a number from 0 to 1, found 7")
    fails(sends(slice(0, 1024), 1024).verify, "line 1034, with 2 ranks, which would take too long to prove")
    numpy.testing.assert_raises_regex(TypeError, "rank 0 yields None", schedule.Schedule, "barrier",
                                      lambda rank, ranks: None, 2, "wrong")
    fails(lambda: rondo.from_threads(2, schedules="/nowhere"), "the schedules /nowhere cannot be read")


main(globals())
