"""The document of a run and its table: pure functions on what was measured."""
import math
import statistics

import record
from tables import aligned


def document(rows, network, model, limit, version):
    return dict(record.run({"rondo": version}),
                what="all-reduces between hosts with limited links, beside their formulas",
                network=network, model=model, limit_per_cent=limit,
                rows=[judged(row, network, model, limit) for row in rows])


# While one tree of a double tree fills, its links work for the other tree.
FILLED = ("chain", "binomial_tree")


def hops(algorithm, hosts):
    """How many messages follow one after the other."""
    doublings = math.ceil(math.log2(hosts))
    return 2 * (hosts - 1) if "ring" in algorithm or algorithm == "chain" else 2 * doublings


def formula(row, network, model):
    """Seconds for the busiest link's bytes, plus a latency for each hop. A single tree also takes the
    time of its first slice at every hop, while the links above and below that hop wait."""
    fill = row["slice"] / rate_of(network) if row["algorithm"] in FILLED else 0
    return (row["link_bytes"] / rate_of(network)
            + hops(row["algorithm"], network["hosts"]) * (model["alpha"] + fill))


def median(row, what):
    return statistics.median(sample[what] for sample in row["samples"])


def judged(row, network, model, limit):
    row = dict(row, predicted=formula(row, network, model))
    seconds = median(row, "seconds")
    idle = median(row, "idle")
    least = 2 * (network["hosts"] - 1) / network["hosts"] * row["bytes"] / rate_of(network)
    off = 100 * (seconds / row["predicted"] - 1)
    return dict(row, measured=seconds, idle=idle, least=least, off_per_cent=off,
                within=abs(off) <= limit)


def rate_of(network):
    return network["payload_gb_s"] * 1e9


def missed(whole):
    return sum(not row["within"] for row in whole["rows"])


def size_text(size):
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << power:
            return f"{size / (1 << power):g} {unit}"
    return f"{size} B"


def cells(row):
    return [row["algorithm"], size_text(row["bytes"]), size_text(row["slice"]),
            size_text(row["link_bytes"]),
            f"{1e3 * row['simulated']:.2f}", f"{1e3 * row['predicted']:.2f}",
            f"{1e3 * row['measured']:.2f}",
            f"{row['off_per_cent']:+.1f} %", f"{1e3 * row['least']:.2f}",
            f"{row['measured'] / row['least']:.3f}",
            f"{100 * row['idle']:.0f} %",
            "within" if row["within"] else "OFF"]


HEADER = ["algorithm", "N", "slice", "busiest link", "simulated ms", "predicted ms", "measured ms",
          "difference", "bound ms", "measured/bound", "idle", "verdict"]


def text(whole):
    network, model = whole["network"], whole["model"]
    head = [f"All-reduce, float32, {network['hosts']} hosts with a rank each, links of "
            f"{network['rate']}.",
            f"One TCP stream carries B = {network['payload_gb_s'] * 1e3:.1f} MB/s "
            f"({network['measured_by']}, congestion control {network['congestion_control']}).",
            f"alpha = {1e6 * model['alpha']:.1f} us, beta = 1/B, gamma = {model['gamma']:g} s/byte.",
            "predicted: bytes of the busiest link / B, and alpha for each hop; in a single tree also "
            "the first slice at each hop.",
            "simulated: the schedule by `rondo simulate` with these slices (of a chunk), one port each "
            "way at each host and a switch.",
            "bound: 2(P-1)/P N/B, the least time of any all-reduce over such links.",
            "idle: share of this machine's processor time while it measured.",
            record.title(whole), ""]
    body = aligned([HEADER, *map(cells, whole["rows"])], str.ljust, str.rjust)
    total = len(whole["rows"])
    verdict = (f"{total - missed(whole)} of {total} within {whole['limit_per_cent']:g} % of the "
               "prediction")
    return "\n".join([*head, *body, "", verdict]) + "\n"


def save(whole, folder):
    """Saves the table of this machine and rate in place of the one before, and returns its path."""
    what = f"all_reduce-formulas-{whole['network']['hosts']}-hosts-{whole['network']['rate']}"
    return record.save_text(text(whole), what, whole, folder)
