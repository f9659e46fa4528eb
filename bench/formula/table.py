"""The document of a run and its table: pure functions on what was measured."""
import json
import math
import statistics

import record


def document(rows, network, model, limit, version):
    whole = record.document([], {"rondo": version})
    del whole["sections"]
    whole["what"] = "all-reduces between hosts with limited links, beside their formulas"
    return dict(whole, network=network, model=model, limit_per_cent=limit,
                rows=[judged(row, network, model, limit) for row in rows])


# Of a double tree's links each works for the other tree while one tree fills.
FILLED = ("chain", "binomial_tree")


def hops(algorithm, hosts):
    """Messages one after the other."""
    doublings = math.ceil(math.log2(hosts))
    return 2 * (hosts - 1) if "ring" in algorithm or algorithm == "chain" else 2 * doublings


def formula(row, network, model):
    """Seconds: the busiest link's bytes, a latency for each hop, and in a single tree the way of the
    first slice up and down, while the links above and below it wait."""
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


def noted(row, key, words):
    """Runs that were recorded before a column was have nothing for it."""
    return words(row[key]) if key in row else "-"


def cells(row):
    return [row["algorithm"], size_text(row["bytes"]), noted(row, "slice", size_text),
            size_text(row["link_bytes"]),
            f"{1e3 * row['simulated']:.2f}", f"{1e3 * row['predicted']:.2f}",
            f"{1e3 * row['measured']:.2f}",
            f"{row['off_per_cent']:+.1f} %", f"{1e3 * row['least']:.2f}",
            f"{row['measured'] / row['least']:.3f}",
            noted(row, "idle", lambda share: f"{100 * share:.0f} %"),
            "within" if row["within"] else "OFF"]


HEADER = ["algorithm", "N", "slice", "busiest link", "simulated ms", "predicted ms", "measured ms",
          "difference", "2(P-1)/P N/B ms", "measured/that", "idle", "verdict"]


def congestion(network):
    """Recorded runs before it was noted have none."""
    name = network.get("congestion_control")
    return f", congestion control {name}" if name else ""


def text(whole):
    network, model = whole["network"], whole["model"]
    head = [f"All-reduce, float32, {network['hosts']} hosts with a rank each, links of "
            f"{network['rate']}: one TCP stream carries B = {network['payload_gb_s'] * 1e3:.1f} "
            "MB/s",
            f"({network['measured_by']}{congestion(network)}), "
            f"alpha = {1e6 * model['alpha']:.1f} us, beta = 1/B, gamma "
            f"= {model['gamma']:g} s/byte.",
            "predicted: the busiest link's bytes over B and alpha a hop, in a single tree also the first "
            "slice's way; simulated: the very",
            "schedule by `rondo simulate` with such slices (of a chunk), a port each way at every "
            "host and a switch between; idle: of this machine's processors, while it measured.",
            record.title(whole), ""]
    lines = [HEADER, *map(cells, whole["rows"])]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    body = ["  ".join(cell.ljust(width) if column == 0 else cell.rjust(width)
                      for column, (cell, width) in enumerate(zip(line, widths))) for line in lines]
    total = len(whole["rows"])
    verdict = (f"{total - missed(whole)} of {total} within {whole['limit_per_cent']:g} % of the "
               "prediction")
    return "\n".join([*head, *body, "", verdict]) + "\n"


def save(whole, folder):
    """The paths of the new files: JSON, and the table as text."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 1
    while (path := folder / name_of(whole, number)).exists():
        number += 1
    rest = {key: value for key, value in whole.items() if key != "rows"}
    rows = ",\n".join(json.dumps(row) for row in whole["rows"])
    path.write_text(json.dumps(rest, indent=1)[:-2] + f',\n "rows": [\n{rows}\n]}}\n')
    path.with_suffix(".txt").write_text(text(whole))
    return path, path.with_suffix(".txt")


def name_of(whole, number):
    return record.file_name(whole, number).replace("-compare", "-formula")
