"""How much to measure in the time there is: pure arithmetic on probes, no clock and no process.

A cell is (bytes, variant). Its probe says what a call costs there and what a sample costs beside
its calls (writing inputs, flushing, checking). A plan gives each cell calls a sample and samples a
round, so that all rounds of all cells fit.
"""
import dataclasses

SIZES = [8, 64, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20,
         64 << 20, 256 << 20]
QUICK_SIZES = [8, 1 << 10, 16 << 10, 64 << 10, 1 << 20, 16 << 20]
LEAST_SAMPLES, MOST_SAMPLES = 2, 40
LEAST_PAIRS, MOST_PAIRS = 8, 512
PAIRS_BYTES = 256 << 10  # what the inputs of small calls take together: a core's own cache
COLD_CALLS = 4


@dataclasses.dataclass(frozen=True)
class Probe:
    size: int        # bytes
    call: float      # seconds
    overhead: float  # seconds a sample beside its calls


@dataclasses.dataclass(frozen=True)
class Effort:
    calls: int
    samples: int


def pairs(size):
    """How many pairs of buffers a command uses in turn.

    A sample has at most as many calls, so that every call finds inputs that were just written, as
    a program's are; otherwise a rank that reads its peers' inputs would find them in its own cache
    from the call before.
    """
    if size > 1 << 20:
        return 4 if size <= 16 << 20 else 2 if size <= 64 << 20 else 1
    return max(LEAST_PAIRS, min(MOST_PAIRS, PAIRS_BYTES // size))


def most_calls(size, cold):
    return min(COLD_CALLS, pairs(size)) if cold else pairs(size)


def warm_up_calls(size, calls):
    """What a driver calls before its first sample (see loop.h)."""
    return max(calls, min(pairs(size), 4))


def probe_calls(size, cold=False):
    return min(most_calls(size, cold), 20 if size <= 64 << 10 else 2)


def probe_of(size, seconds, call_us, calls):
    """From the reply to a command of one sample of `calls` calls, and the one that warms up."""
    call = call_us * 1e-6
    called = call * (calls + warm_up_calls(size, calls))
    return Probe(size, call, max(0.0, seconds - called) / 2)


def calls_for(size, call, oversubscribed, cold=False):
    """So many that a sample outlasts the clock's noise, and time slices where ranks share cores."""
    target = 20e-3 if oversubscribed else 2e-3
    return max(1, min(most_calls(size, cold), round(target / max(call, 1e-9))))


def command_seconds(probe, effort):
    """What one command takes: its samples, and the one before them that warms up."""
    calls = effort.calls * effort.samples + warm_up_calls(probe.size, effort.calls)
    return probe.overhead * (effort.samples + 1) + probe.call * calls


def effort_for(probe, seconds, oversubscribed, cold=False):
    """The most samples that fit into `seconds`, within the limits; at least the least."""
    calls = calls_for(probe.size, probe.call, oversubscribed, cold)
    least = Effort(calls, LEAST_SAMPLES)
    spare = seconds - command_seconds(probe, least)
    one_more = probe.overhead + probe.call * calls
    more = int(max(0.0, spare) / one_more) if one_more > 0 else MOST_SAMPLES
    return Effort(calls, min(MOST_SAMPLES, LEAST_SAMPLES + more))


def total_seconds(probes, efforts, rounds):
    return rounds * sum(command_seconds(probes[cell], efforts[cell]) for cell in efforts)


def spread(probes, seconds, rounds, oversubscribed, cold=False):
    """The same time for every cell, as much as fits; cells that need less leave the rest."""
    low, high = 0.0, seconds
    best = {cell: effort_for(probe, 0.0, oversubscribed, cold) for cell, probe in probes.items()}
    for _ in range(40):
        level = (low + high) / 2
        efforts = {cell: effort_for(probe, level, oversubscribed, cold)
                   for cell, probe in probes.items()}
        if total_seconds(probes, efforts, rounds) <= seconds:
            low, best = level, efforts
        else:
            high = level
    return best


def make_plan(probes, seconds, rounds, oversubscribed, cold=False):
    """(efforts, sizes left out): largest sizes go first where even the least does not fit."""
    kept, left_out = dict(probes), []
    while True:
        efforts = spread(kept, seconds, rounds, oversubscribed, cold)
        sizes = sorted({size for size, _ in kept})
        if len(sizes) <= 1 or total_seconds(kept, efforts, rounds) <= seconds:
            return efforts, sorted(left_out)
        left_out.append(sizes[-1])
        kept = {cell: probe for cell, probe in kept.items() if cell[0] != sizes[-1]}


def probe_fits(last_size, last_seconds, size, rounds, remaining):
    """Whether probing and then measuring `size` can fit, judged by the probes of the size before.

    A least command is two samples and one to warm up, a probe one and one: 1.5 times as long.
    """
    if last_size is None:
        return True
    growth = max(1.0, size / last_size) if last_size >= 1 << 20 else 1.0
    return last_seconds * growth * (1 + 1.5 * rounds) <= remaining


def fits_memory(size, ranks, available):
    """Input and output of every pair of every rank in half of what is free."""
    return 2 * pairs(size) * size * ranks <= available // 2


def share(remaining, weights):
    """The first one's part of the remaining seconds."""
    return max(0.0, remaining) * weights[0] / sum(weights)
