"""From samples to ratios and verdicts: pure functions on a section's rows."""
import statistics

KB, MB = 1 << 10, 1 << 20
PEERS = ["openmpi", "mpich", "gloo", "gloo bcube"]


def medians(cell):
    """One median a round; nothing where the cell failed or was not measured."""
    if not cell or "failure" in cell:
        return []
    return [statistics.median(one["us"]) for one in cell["rounds"]]


def time_of(cell, key="us"):
    """Median of all samples in microseconds, or None."""
    if not medians(cell):
        return None
    return statistics.median(value for one in cell["rounds"] for value in one[key])


def ratio_of(ours, theirs):
    """Round by round, so that both sides met the same machine: {median, min, max} or None."""
    ratios = [a / b for a, b in zip(medians(ours), medians(theirs)) if b > 0]
    if not ratios:
        return None
    return {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}


def best(cells, names):
    """The name with the least time, or None."""
    times = {name: time_of(cells.get(name)) for name in names}
    known = {name: time for name, time in times.items() if time is not None}
    return min(known, key=known.get) if known else None


def busbw(collective, ranks, size, microseconds):
    """GB/s as in nccl-tests, where `size` is the rank's larger buffer."""
    factors = {"all_reduce": 2 * (ranks - 1) / ranks, "broadcast": 1.0}
    return size / microseconds * 1e-3 * factors.get(collective, (ranks - 1) / ranks)


def floor_time(cells, ranks, copy_ranks):
    """Microseconds in which all cores copy every rank's vector once: N read and N written a rank."""
    copy = time_of(cells.get("copy"))
    return None if copy is None else copy * ranks / copy_ranks


def shared_memory_bars(collective, ranks, size, floor_ratio):
    """[(variant, at most so many times the best peer's time)]"""
    if collective != "all_reduce" or ranks not in (2, 4):
        return [("rondo", 1.0)]
    if size >= MB:
        allocate = 0.5 if floor_ratio is None else max(0.5, floor_ratio / 0.75)
        return [("rondo", 0.7), ("allocate", allocate)]
    return [("rondo", 1.0 if ranks == 4 and size < 64 * KB else 0.8)]


def judged(what, ratio, limit):
    value = ratio["median"]
    return {"what": what, "value": value, "limit": limit, "reached": value <= limit}


def shared_memory_verdicts(collective, ranks, size, cells, copy_ranks):
    peer = best(cells, PEERS)
    floor = floor_time(cells, ranks, copy_ranks)
    ratio = None if floor is None or peer is None else floor / time_of(cells[peer])
    for variant, limit in shared_memory_bars(collective, ranks, size, ratio):
        measured = ratio_of(cells.get(variant), cells.get(peer))
        if measured:
            yield judged(f"{variant}/{peer}", measured, limit)


def tcp_verdicts(cells):
    for names, limit in ((["gloo", "gloo bcube"], 0.6), (["openmpi"], 0.8)):
        peer = best(cells, names)
        measured = ratio_of(cells.get("rondo"), cells.get(peer))
        if measured:
            yield judged(f"rondo/{peer}", measured, limit)


def processor_ratio(cells, variant="rondo", peer="openmpi"):
    """CPU seconds for a call, so for a byte, as a ratio; or None."""
    ours, theirs = (time_of(cells.get(name), "cpu_us") for name in (variant, peer))
    return ours / theirs if ours is not None and theirs else None


def verdicts(section, size, cells):
    """All bars that this row is held to."""
    if section["link"] == "shm":
        found = list(shared_memory_verdicts(section["collective"], section["ranks"], size, cells,
                                            section["copy_ranks"]))
    else:
        found = list(tcp_verdicts(cells))
    processor = processor_ratio(cells)
    if processor is not None:
        found.append(judged("cpu/openmpi", {"median": processor}, 1.0))
    return found


def summarize(section, size, cells):
    """What a line of the table says."""
    peer = best(cells, PEERS)
    ours = time_of(cells.get("rondo"))
    collective, ranks = section["collective"], section["ranks"]
    return {
        "size": size,
        "times": {name: time_of(cell) for name, cell in cells.items()},
        "failures": {name: cell["failure"] for name, cell in cells.items() if "failure" in cell},
        "peer": peer,
        "ratio": ratio_of(cells.get("rondo"), cells.get(peer)),
        "allocate_ratio": ratio_of(cells.get("allocate"), cells.get(peer)),
        "floor": floor_time(cells, ranks, section["copy_ranks"]),
        "busbw": None if ours is None else busbw(collective, ranks, size, ours),
        "cpu": processor_ratio(cells),
        "verdicts": verdicts(section, size, cells),
    }
