"""The bars of a comparison over hosts, and its tables: pure functions on results."""
import layout
import summary
import tables

LEAST_OF_LINK = 0.95      # of the link's payload rate, by the busbw of an all-reduce ...
LINK_SIZE = 64 << 20      # ... of this many bytes
MOST_OF_PEER = 1.0        # times Open MPI's and gloo's time, at every size
COLUMNS = ["rondo", "openmpi", "mpich", "gloo"]
PEERS = {"openmpi": ["openmpi", "openmpi han", "openmpi adapt"], "mpich": ["mpich"],
         "gloo": ["gloo", "gloo bcube"]}
JUDGED = ["openmpi", "gloo"]


def ratios(row):
    """{peer: ratio or None}; of gloo's algorithms the faster one counts."""
    return {peer: row.ratio("rondo", row.best(names)) for peer, names in PEERS.items()}


def least_through_a_host(collective, ranks_on):
    """How often the buffer's size has to go in or out at the busiest host. Ranks of a host hold as much
    as others, but an all_reduce or a broadcast need not send a host's vector twice."""
    hosts, ranks = len(ranks_on), sum(ranks_on)
    if collective == "all_reduce":
        return 2 * (hosts - 1) / hosts
    if collective in ("broadcast", "scan", "exclusive_scan"):
        return 1.0
    if collective == "all_to_all":
        return max(here * (ranks - here) for here in ranks_on) / ranks
    return (ranks - min(ranks_on)) / ranks


def share_of_link(row, link_rate):
    """Of what goes through the busiest host at least, in the time of its links."""
    ours = row.time("rondo")
    if ours is None:
        return None
    least = least_through_a_host(row.collective, row.ranks_on) * row.size
    return least / ours * 1e-3 / link_rate / row.ports


def verdicts(row, link_rate):
    """[{what, value, limit, reached}]: against peers, and against the link where that is asked."""
    found = [summary.judged(f"rondo/{peer}", ratio, MOST_OF_PEER)
             for peer, ratio in ratios(row).items() if peer in JUDGED and ratio]
    share = share_of_link(row, link_rate)
    if row.collective == "all_reduce" and row.size == LINK_SIZE and share is not None:
        found.append({"what": "busbw/link", "value": share, "limit": LEAST_OF_LINK,
                      "reached": share >= LEAST_OF_LINK})
    return found


def verdict_text(found):
    missed = [f"MISSED {one['what']} {one['value']:.2f} (limit {one['limit']:.2f})"
              for one in found if not one["reached"]]
    return ", ".join(missed) if missed else "reached" if found else ""


def columns_of(section):
    """Libraries, or the algorithms of rondo that were measured."""
    names = {name for row in section["rows"] for name in row["variants"]}
    others = sorted(names - {name for peer in PEERS.values() for name in peer} - {"rondo"})
    return ["rondo", *others] if others else COLUMNS


def header(columns):
    if columns != COLUMNS:
        return ["size", *columns, "% of link", "fastest"]
    return ["size", *columns, *(f"rondo/{peer}" for peer in PEERS), "% of link", "verdict"]


def table_row(row, columns, link_rate):
    line = summary.summarize(row)
    shown = [row.best(PEERS.get(name, [name])) or name for name in columns]
    cells = [tables.size_text(row.size)] + [tables.time_text(line, name) for name in shown]
    share = share_of_link(row, link_rate)
    share_text = "-" if share is None else f"{100 * share:.1f}"
    if columns != COLUMNS:
        return cells + [share_text, row.best(columns) or "-"]
    return (cells + [tables.ratio_text(ratio) for ratio in ratios(row).values()]
            + [share_text, verdict_text(verdicts(row, link_rate))])


def rows_of(section):
    return [summary.Row(section, row) for row in section["rows"]]


def section_text(section, link_rate):
    columns = columns_of(section)
    rows = rows_of(section)
    text = [f"{section['collective']}, float32, {layout.text(summary.ranks_on(section))} ranks: us of the "
            "slowest rank; ratios are medians over rounds [min..max]; % of link: what goes through "
            "the busiest host at least / rate of one TCP stream a port"]
    if rows:
        lines = [table_row(row, columns, link_rate) for row in rows]
        text += tables.aligned([header(columns), *lines])
    text += tables.notes_of(section, [summary.summarize(row) for row in rows])
    return "\n".join(text)


def link_rate(whole):
    """GB/s, the highest of all runs that rows are from."""
    return max(run["network"]["payload_gb_s"] for run in whole["runs"])


def missed(whole):
    """How many bars were missed, and how many there were."""
    rate = link_rate(whole)
    found = [one for section in whole["sections"] for row in rows_of(section)
             for one in verdicts(row, rate)]
    return sum(not one["reached"] for one in found), len(found)
