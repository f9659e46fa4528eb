"""What a cell's record says: pure functions on what ranks told, and when.

A record: {outcome, within, ranks, victim, host (the ranks on the victim's host), victim_tells, path (the
fault breaks one), kills (a rank), told [{rank, kind, peer, text, seconds}], done [ranks], wrong [{rank,
text}], launcher {status, lines} or None, held [what had to be ended by force], gone (seconds until
nothing ran any more), left [words]}.
Seconds count from the fault.
"""
import re

DEATH = "died or was killed"  # how rondo calls one

def named(told, path=False):
    """The ranks that an error names: its peer, else those in its text, without the one that speaks. For a
    broken path, which has two ends, both."""
    if told["peer"] >= 0 and not path:
        return {told["peer"]}
    text = told["text"].removeprefix(f"rondo: rank {told['rank']}:")
    peer = {told["peer"]} if told["peer"] >= 0 else set()
    return peer | {int(rank) for rank in re.findall(r"\brank (\d+)", text)} - {told["rank"]}


def may_be_named(record, rank):
    """Those that a rank may blame. For the ranks of the host at fault all others look silent."""
    if rank in record["host"]:
        return set(range(record["ranks"])) - {rank}
    return set(record["host"])


def must_tell(record):
    """Ranks of the host at fault live only where `victim_tells` says so."""
    return [rank for rank in range(record["ranks"])
            if rank not in record["host"] or record["victim_tells"]]


def errors(record):
    """What is bad about the errors that were told, or were not."""
    found, told = [], {one["rank"]: one for one in record["told"]}
    for rank in must_tell(record):
        if rank not in told:
            found.append(f"rank {rank} told nothing")
            continue
        one = told[rank]
        if one["seconds"] > record["within"]:
            found.append(f"rank {rank} told it after {one['seconds']:.1f} s, "
                         f"{record['within']:g} s are allowed")
        own = rank == record["victim"] and one["peer"] < 0  # the shortage is its own
        if not own and not named(one, record["path"]) & may_be_named(record, rank):
            blamed = ", ".join(map(str, sorted(named(one)))) or "nobody"
            found.append(f"rank {rank} blames {blamed} ({one['kind']})")
    found += [f"rank {one['rank']} says that a rank has died, which is not so" for one in record["told"]
              if not record["kills"] and DEATH in one["text"]]
    if record["launcher"] and not record["launcher"]["status"]:
        found.append("rondorun ended with status 0")
    return found


def launcher(record):
    """What is bad about rondorun's words: they name the rank, or its host."""
    lines = "\n".join(record["launcher"]["lines"])
    names = [rf"\brank {rank}\b" for rank in record["host"]] + [rf"\bh{record['victim']}\b"]
    found = [] if any(re.search(name, lines) for name in names) else ["rondorun does not name the culprit"]
    return found + ([] if record["launcher"]["status"] else ["rondorun ended with status 0"])


def works(record):
    found = [f"rank {one['rank']} told {one['kind']}" for one in record["told"]]
    found += [f"rank {rank} has not completed" for rank in range(record["ranks"])
              if rank not in record["done"]]
    if record["launcher"] and record["launcher"]["status"]:
        found.append(f"rondorun ended with status {record['launcher']['status']}")
    return found


def copes(record):
    return errors(record) if record["told"] else works(record)


def gone(record):
    if record["gone"] > record["within"]:
        return [f"something ran for {record['gone']:.1f} s, {record['within']:g} s are allowed"]
    return []


OUTCOMES = {"error": errors, "launcher": launcher, "works": works, "copes": copes, "gone": gone,
            "both": lambda record: sorted({*errors(record), *launcher(record)})}


def complaints(record):
    """Why the cell is bad, in words; nothing where it is as it should be."""
    return (OUTCOMES[record["outcome"]](record)
            + [f"rank {one['rank']} has a wrong element" for one in record["wrong"]]
            + [f"{one} did not end by itself" for one in record["held"]]
            + [f"left behind: {one}" for one in record["left"]])


# ---- the table


def told_text(record):
    """"0, 2: peer_lost, names 1": ranks that told the same, in one."""
    groups = {}
    for one in sorted(record["told"], key=lambda told: told["rank"]):
        blamed = ", ".join(map(str, sorted(named(one)))) or "nobody"
        groups.setdefault((one["kind"], blamed), []).append(str(one["rank"]))
    parts = [f"{', '.join(ranks)}: {kind}, names {blamed}" for (kind, blamed), ranks in groups.items()]
    if record["done"]:
        parts.append(f"{', '.join(map(str, sorted(record['done'])))}: completed")
    if record["launcher"]:
        parts.append(f"rondorun: status {record['launcher']['status']}")
    return "; ".join(parts) or "nobody told anything"


def after_text(record):
    """Of those that must tell: a rank at fault may have been stopped until then."""
    seconds = [one["seconds"] for one in record["told"] if one["rank"] in must_tell(record)]
    if not seconds:
        return f"gone in {record['gone']:.1f} s" if record["outcome"] == "gone" else "-"
    return f"{min(seconds):.1f} to {max(seconds):.1f} s" if len(seconds) > 1 else f"{seconds[0]:.1f} s"


def row(result):
    """`result`: {cell, text, skipped or record}."""
    transport, fault, collective = result["cell"].split("/")
    if result.get("skipped"):
        return [transport, fault, collective, "", "", f"not run: {result['skipped']}"]
    if result.get("broken"):
        return [transport, fault, collective, "", "", f"BAD: {result['broken']}"]
    found = complaints(result["record"])
    return [transport, fault, collective, told_text(result["record"]), after_text(result["record"]),
            "BAD: " + "; ".join(found) if found else "ok"]


HEADER = ["transport", "fault", "collective", "ranks told", "after", "verdict"]


def table(results):
    """Markdown."""
    lines = [HEADER, ["---"] * len(HEADER), *(row(result) for result in results)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def is_bad(result):
    return row(result)[-1].startswith("BAD")
