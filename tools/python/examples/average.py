"""Each rank measures something; all learn the mean and the largest value.

    rondorun -n 4 python tools/python/examples/average.py
"""

import numpy

import rondo

with rondo.from_environment() as world:
    generator = numpy.random.default_rng(seed=world.rank)
    samples = generator.normal(loc=10.0, size=100_000)

    sums = numpy.array([samples.sum(), samples.size])
    world.all_reduce(sums)                        # in place, op="sum"
    largest = numpy.array([samples.max()])
    world.all_reduce(largest, op="max")
    if world.rank == 0:
        print(f"{sums[1]:.0f} samples of {world.size} ranks: mean {sums[0] / sums[1]:.3f}, "
              f"largest {largest[0]:.3f}")
