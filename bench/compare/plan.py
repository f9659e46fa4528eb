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
LEAST_ROUNDS = 2
SURE_SIZE = 1 << 20    # up to here every size is measured, however briefly
PROBE_SECONDS = 10e-3  # about, for the calls of one probe
FAR_BEHIND = 8         # times the fastest peer


@dataclasses.dataclass(frozen=True)
class Probe:
    size: int        # bytes
    call: float      # seconds
    overhead: float  # seconds a sample beside its calls


@dataclasses.dataclass(frozen=True)
class Effort:
    calls: int
    samples: int
    rounds: int


def pairs(size):
    """How many pairs of buffers a command uses in turn.

    A sample has at most as many calls. So every call finds inputs that were just written, as a
    program's are. Otherwise a rank that reads its peers' inputs would find them in its own cache,
    from the call before.
    """
    if size > 1 << 20:
        return 4 if size <= 16 << 20 else 2 if size <= 64 << 20 else 1
    return max(LEAST_PAIRS, min(MOST_PAIRS, PAIRS_BYTES // size))


def most_calls(size, cold):
    return min(COLD_CALLS, pairs(size)) if cold else pairs(size)


def warm_up_calls(size, calls):
    """How many calls a driver makes before its first sample (see loop.h)."""
    return max(calls, min(pairs(size), 4))


def probe_calls(size, last_call, cold=False):
    """How many calls a probe makes. `last_call`: seconds of a call at the size before, or None."""
    most = min(most_calls(size, cold), 20 if size <= 64 << 10 else 2)
    return most if last_call is None else max(1, min(most, round(PROBE_SECONDS / last_call)))


def probe_of(size, seconds, call_us, calls):
    """The probe that follows from the reply to a command with one sample of `calls` calls, after the
    sample that warms up."""
    call = call_us * 1e-6
    called = call * (calls + warm_up_calls(size, calls))
    return Probe(size, call, max(0.0, seconds - called) / 2)


def calls_for(size, call, oversubscribed, cold=False):
    """So many calls that a sample outlasts the clock's noise, and time slices where ranks share
    cores."""
    target = 20e-3 if oversubscribed else 2e-3
    return max(1, min(most_calls(size, cold), round(target / max(call, 1e-9))))


def command_seconds(probe, effort):
    """The time of one command: its samples, and the one before them that warms up."""
    calls = effort.calls * effort.samples + warm_up_calls(probe.size, effort.calls)
    return probe.overhead * (effort.samples + 1) + probe.call * calls


def effort_for(probe, seconds, rounds, oversubscribed, cold=False):
    """The most samples that fit into `seconds` a round, within the limits."""
    calls = calls_for(probe.size, probe.call, oversubscribed, cold)
    least = Effort(calls, LEAST_SAMPLES, rounds)
    spare = seconds - command_seconds(probe, least)
    one_more = probe.overhead + probe.call * calls
    more = int(max(0.0, spare) / one_more) if one_more > 0 else MOST_SAMPLES
    return Effort(calls, min(MOST_SAMPLES, LEAST_SAMPLES + more), rounds)


def far_behind(cell, probes):
    """Whether another peer is so much faster that this one's exact time decides nothing."""
    size, variant = cell
    others = [probe.call for (other_size, other), probe in probes.items()
              if other_size == size and other.peer and other is not variant]
    return variant.peer and bool(others) and probes[cell].call > FAR_BEHIND * min(others)


def efforts_at(probes, seconds, rounds, oversubscribed, cold=False):
    """Efforts for `seconds` a cell and round. A peer that is far behind is asked for the least, once."""
    return {cell: Effort(1, LEAST_SAMPLES, 1) if far_behind(cell, probes)
            else effort_for(probe, seconds, rounds, oversubscribed, cold)
            for cell, probe in probes.items()}


def total_seconds(probes, efforts):
    return sum(effort.rounds * command_seconds(probes[cell], effort)
               for cell, effort in efforts.items())


def spread(probes, seconds, rounds, oversubscribed, cold=False):
    """Efforts with the same time for every cell, as much as fits. Cells that need less leave the
    rest to others."""
    low, high = 0.0, seconds
    best = efforts_at(probes, 0.0, rounds, oversubscribed, cold)
    for _ in range(30):
        level = (low + high) / 2
        efforts = efforts_at(probes, level, rounds, oversubscribed, cold)
        if total_seconds(probes, efforts) <= seconds:
            low, best = level, efforts
        else:
            high = level
    return best


def make_plan(probes, seconds, rounds, oversubscribed, cold=False):
    """(efforts, sizes left out). Where even the least does not fit, the largest sizes go first.

    Sizes up to SURE_SIZE always stay: a probe that met a hiccup must not drop all that follow.
    """
    kept, left_out = dict(probes), []
    while True:
        efforts = spread(kept, seconds, rounds, oversubscribed, cold)
        sizes = sorted({size for size, _ in kept})
        if not sizes or sizes[-1] <= SURE_SIZE or total_seconds(kept, efforts) <= seconds:
            return efforts, sorted(left_out)
        left_out.append(sizes[-1])
        kept = {cell: probe for cell, probe in kept.items() if cell[0] != sizes[-1]}


def scaled(probe, size):
    """The probe to expect at another size. Up to 1 MB a call is taken to cost the same."""
    growth = max(1.0, size / probe.size) if probe.size >= 1 << 20 else 1.0
    written = size * pairs(size) / (probe.size * pairs(probe.size))
    return Probe(size, probe.call * growth, probe.overhead * max(1.0, written))


def probe_fits(size, probes, rounds, oversubscribed, remaining):
    """Whether `size` can be probed and then measured, judged by `probes` of the size before."""
    if size <= SURE_SIZE or not probes:
        return True
    expected = {(size, variant): scaled(probe, size) for (_, variant), probe in probes.items()}
    trying = sum(command_seconds(probe, Effort(probe_calls(size, probe.call), 1, 1))
                 for probe in expected.values())
    efforts = efforts_at(expected, 0.0, rounds, oversubscribed)
    return trying + total_seconds(expected, efforts) <= remaining


def another_round(done, last_seconds, remaining):
    """Whether to go on. There are at least two rounds, so that there is a range, then more while there
    is time for most of one."""
    return done < LEAST_ROUNDS or last_seconds <= 1.2 * remaining


def fits_memory(size, ranks, available):
    """Whether the inputs and outputs of every pair of every rank fit into half of what is free."""
    return 2 * pairs(size) * size * ranks <= available // 2


def share(remaining, weights):
    """The first one's part of the remaining seconds."""
    return max(0.0, remaining) * weights[0] / sum(weights)
