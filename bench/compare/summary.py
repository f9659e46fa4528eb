"""From times to ratios and verdicts: pure functions on a section's rows."""
import statistics

KB, MB = 1 << 10, 1 << 20
PEERS = ["openmpi", "mpich", "gloo", "gloo bcube"]
SOCKETS = ["socket", "socket pair"]
MOST_OF_SOCKETS = 1.15  # times what plain sockets take: there the kernel is the floor


def typical(values, oversubscribed):
    """A round's value: the median of its samples, to five digits. Where ranks share cores it is the
    mean: a sample either meets the end of a time slice or not, and the median would hide all that do."""
    value = statistics.mean(values) if oversubscribed else statistics.median(values)
    return float(f"{value:.5g}")


def by_round(cell, key="us"):
    """One value for each round; none where the cell failed or was not measured."""
    return [] if not cell or "failure" in cell else cell[key]


def ranks_on(section):
    """How many ranks each host has, in a run over hosts."""
    hosts = section.get("hosts", section["ranks"])  # once a number
    return hosts if isinstance(hosts, list) else [section["ranks"] // hosts] * hosts


class Row:
    """One size of a section."""

    def __init__(self, section, row):
        self.size, self.cells = row["bytes"], row["variants"]
        self.link, self.ranks = section["link"], section["ranks"]
        self.collective = section["collective"]
        self.copy_ranks = section["copy_ranks"]
        self.ranks_on, self.ports = ranks_on(section), section.get("ports", 1)

    def rounds(self, name, key="us"):
        return by_round(self.cells.get(name), key)

    def time(self, name, key="us"):
        """Microseconds a call, median over the rounds, or None."""
        values = self.rounds(name, key)
        return statistics.median(values) if values else None

    def ratio(self, ours, theirs, key="us"):
        """{median, min, max} of the ratios of each round, in which both met the same machine, or None."""
        pairs = zip(self.rounds(ours, key), self.rounds(theirs, key))
        ratios = [a / b for a, b in pairs if b > 0]
        if not ratios:
            return None
        return {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}

    def best(self, names):
        """The name with the least time, or None."""
        times = {name: self.time(name) for name in names}
        known = {name: time for name, time in times.items() if time is not None}
        return min(known, key=known.get) if known else None

    def floor(self):
        """Microseconds in which all cores copy every rank's vector once, or None. Each rank's copy
        reads N and writes N."""
        copy = self.time(self.best(["copy", "copy stream"]))
        return None if copy is None else copy * self.ranks / self.copy_ranks


def busbw(collective, ranks, size, microseconds):
    """GB/s as in nccl-tests, where `size` is the rank's larger buffer. Blocks that differ in size
    count as if they did not."""
    factors = {"all_reduce": 2 * (ranks - 1) / ranks, "broadcast": 1.0, "scan": 1.0, "exclusive_scan": 1.0}
    return size / microseconds * 1e-3 * factors.get(collective, (ranks - 1) / ranks)


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


def shared_memory_verdicts(row):
    peer, floor = row.best(PEERS), row.floor()
    floor_ratio = None if floor is None or peer is None else floor / row.time(peer)
    for variant, limit in shared_memory_bars(row.collective, row.ranks, row.size, floor_ratio):
        ratio = row.ratio(variant, peer)
        if ratio:
            yield judged(f"{variant}/{peer}", ratio, limit)


def to_sockets(row):
    """rondo's time to that of plain sockets that exchange the same bytes, or None."""
    return row.ratio("rondo", row.best(SOCKETS))


def tcp_verdicts(row):
    """rondo must take a share of a peer's time, or about the time of the sockets themselves, which
    nobody can beat."""
    sockets = to_sockets(row)
    at_floor = sockets is not None and sockets["median"] <= MOST_OF_SOCKETS
    for names, limit in ((["gloo", "gloo bcube"], 0.6), (["openmpi"], 0.8)):
        peer = row.best(names)
        ratio = row.ratio("rondo", peer)
        if ratio:
            verdict = judged(f"rondo/{peer}", ratio, limit)
            by_floor = at_floor and not verdict["reached"]
            yield dict(verdict, reached=True, floor=True) if by_floor else verdict


def verdicts(row):
    """All bars that this row is held to. The ratio of CPU seconds is the same for a call and a byte."""
    found = list(shared_memory_verdicts(row) if row.link == "shm" else tcp_verdicts(row))
    processor = row.ratio("rondo", "openmpi", "cpu_us")
    if processor:
        found.append(judged("cpu/openmpi", processor, 1.0))
    return found


def summarize(row):
    """What a line of the table says."""
    peer, ours = row.best(PEERS), row.time("rondo")
    return {
        "size": row.size,
        "times": {name: row.time(name) for name in row.cells},
        "failures": {name: cell["failure"] for name, cell in row.cells.items()
                     if "failure" in cell},
        "peer": peer,
        "ratio": row.ratio("rondo", peer),
        "allocate_ratio": row.ratio("allocate", peer),
        "floor": row.floor(),
        "sockets": to_sockets(row),
        "busbw": None if ours is None else busbw(row.collective, row.ranks, row.size, ours),
        "cpu": row.ratio("rondo", "openmpi", "cpu_us"),
        "verdicts": verdicts(row),
    }
