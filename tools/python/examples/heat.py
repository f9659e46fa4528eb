"""Heat in a rod that is cut into a piece for each rank: neighbours exchange their edges every step.

    rondorun -n 4 python tools/python/examples/heat.py [STEPS]

The ends of the rod are kept at 0 and 1. The program prints how near the middle of the rod has come
to 0.5, and whether the whole rod equals that of a single process.
"""

import sys

import numpy

import rondo

CELLS, RATE = 48, 0.4


def step(rod):
    rod[1:-1] += RATE * (rod[2:] - 2 * rod[1:-1] + rod[:-2])


def alone(steps):
    rod = numpy.zeros(CELLS + 2)
    rod[-1] = 1
    for _ in range(steps):
        step(rod)
    return rod[1:-1]


def exchange(world, rod):
    """The cell beyond each edge is the neighbour's; at the ends of the rod it stays as it is."""
    with rondo.group():
        if world.rank > 0:
            world.send(rod[1:2], world.rank - 1)
            world.recv(rod[:1], world.rank - 1)
        if world.rank < world.size - 1:
            world.send(rod[-2:-1], world.rank + 1)
            world.recv(rod[-1:], world.rank + 1)


def main(steps):
    with rondo.from_environment() as world:
        if CELLS % world.size:
            raise SystemExit(f"{CELLS} cells do not make equal pieces for {world.size} ranks")
        rod = numpy.zeros(CELLS // world.size + 2)
        if world.rank == world.size - 1:
            rod[-1] = 1
        for _ in range(steps):
            exchange(world, rod)
            step(rod)
        whole = numpy.empty(CELLS) if world.rank == 0 else None
        world.gather(rod[1:-1], whole)
        if world.rank == 0:
            print(f"the middle after {steps} steps: {whole[CELLS // 2]:.4f}; equal to one process: "
                  f"{numpy.array_equal(whole, alone(steps))}")


main(int(sys.argv[1]) if sys.argv[1:] else 4000)
