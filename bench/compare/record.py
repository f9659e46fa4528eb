"""What a run leaves: one file for each machine, with where, when and how each row was measured.

A row keeps, for each variant and round, the typical time of a call; single samples are not kept. A
row says by number which run measured it, so that a file can be brought up to date row by row.
"""
import datetime
import json
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"


def command_output(*command):
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.strip()


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown CPU"


def system_name():
    release = pathlib.Path("/etc/os-release")
    text = release.read_text() if release.exists() else ""
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)', text, re.M)
    return match.group(1) if match else platform.system()


def available_memory():
    text = pathlib.Path("/proc/meminfo").read_text()
    return int(re.search(r"^MemAvailable:\s+(\d+)", text, re.M).group(1)) * 1024


def machine():
    return {"cpu": cpu_model(), "cores": os.cpu_count(), "kernel": platform.release(),
            "system": system_name()}


def place():
    """The machine and the commit, for the head of a table."""
    where = machine()
    return (f"{where['cpu']}, {where['cores']} cores, Linux {where['kernel']}; commit "
            f"{command_output('git', 'rev-parse', '--short', 'HEAD')}")


def save_text(text, what, one, folder=RESULTS):
    """Saves the table of this machine in place of the one before, and returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = (folder / file_name(what, one)).with_suffix(".txt")
    path.write_text(text)
    return path


def command_line():
    """This program's, with the program named from the repository's root."""
    program = pathlib.Path(sys.argv[0]).resolve()
    name = program.relative_to(ROOT) if program.is_relative_to(ROOT) else program.name
    return shlex.join([str(name), *sys.argv[1:]])


def run(versions):
    """When, where, of which sources and with which command."""
    now = datetime.datetime.now(datetime.timezone.utc)
    changed = bool(command_output("git", "status", "--porcelain", "--untracked-files=no"))
    return {"date": now.isoformat(timespec="seconds"),
            "commit": command_output("git", "rev-parse", "--short", "HEAD"),
            "uncommitted_changes": changed, "command": command_line(), "machine": machine(),
            "versions": versions}


def document(sections, versions, **more):
    """A document of one run; `more` is kept with the run."""
    sections = [dict(section, rows=[dict(row, run=0) for row in section["rows"]])
                for section in sections]
    return {"what": "collectives compared, float32 sum; a value a round, us",
            "runs": [dict(run(versions), **more)], "sections": sections}


def title(one):
    """Where, when and how a run was, in one line."""
    place = one["machine"]
    changes = " with uncommitted changes" if one["uncommitted_changes"] else ""
    return (f"{place['cpu']}, {place['cores']} cores, Linux {place['kernel']}, {place['system']}; "
            f"{', '.join(sorted(one['versions'].values()))}; commit {one['commit']}{changes}, "
            f"{one['date'][:10]}; {one['command']}")


def conclude(whole, missed, bars):
    """Says which runs these were, and how many goals they reached. The exit status."""
    print("", *map(title, whole["runs"]), sep="\n")
    if bars:
        print(f"{bars - missed} of {bars} goals reached")
    return 1 if missed else 0


def file_name(what, one):
    """What was measured and on which machine; the file itself says when."""
    cpu = re.sub(r"\W+", "-", re.sub(r"\(\w+\)", "", one["machine"]["cpu"])).strip("-").lower()
    return f"{what}-{cpu}-{one['machine']['cores']}-cores.json"


def save(whole, folder, what):
    """The path of this machine's file. Rows of `whole` replace equal ones that it has."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file_name(what, whole["runs"][-1])
    if path.exists():
        whole = joined([json.loads(path.read_text()), whole])
    path.write_text(text_of(whole))
    return path


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def text_of(whole):
    """JSON with one line for each row of a table: a change of one is a change of one line."""
    rest = {key: value for key, value in whole.items() if key != "sections"}
    sections = ",\n".join(section_text(section) for section in whole["sections"])
    return json.dumps(rest, indent=1)[:-2] + f',\n "sections": [\n{sections}\n]}}\n'


def section_text(section):
    rest = {key: value for key, value in section.items() if key != "rows"}
    rows = ",\n".join(map(compact, section["rows"]))
    return f'{compact(rest)[:-1]},"rows":[\n{rows}\n]}}'


def load(paths):
    return joined([json.loads(pathlib.Path(path).read_text()) for path in paths])


def section_key(section):
    return section["link"], section["ranks"], section["collective"], section["cache"]


def joined(wholes):
    """One document: rows of later ones replace equal rows of earlier ones. Runs that have measured
    none of its rows are dropped."""
    sections, runs = {}, []
    for whole in wholes:
        for section in whole["sections"]:
            rows = [dict(row, run=row["run"] + len(runs)) for row in section["rows"]]
            section, key = dict(section, rows=rows), section_key(section)
            sections[key] = united(sections[key], section) if key in sections else section
        runs += whole["runs"]
    return with_used_runs(dict(wholes[-1], sections=list(sections.values())), runs)


def united(first, second):
    rows = {row["bytes"]: row for row in first["rows"] + second["rows"]}
    notes = [note for note in first["notes"] + second["notes"] if note[0] not in rows]
    measured = {name for row in rows.values() for name in row["variants"]}
    missing = {name: why for name, why in {**first["missing"], **second["missing"]}.items()
               if name not in measured}
    return dict(second, rows=[row for _, row in sorted(rows.items())], notes=notes, missing=missing)


def with_used_runs(whole, runs):
    rows = [row for section in whole["sections"] for row in section["rows"]]
    used = sorted({row["run"] for row in rows}) or [len(runs) - 1]
    for row in rows:
        row["run"] = used.index(row["run"])
    return dict(whole, runs=[runs[number] for number in used])
