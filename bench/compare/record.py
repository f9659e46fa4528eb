"""The document of a run: machine, versions, commit, and every sample."""
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess

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


def document(sections, versions):
    now = datetime.datetime.now(datetime.timezone.utc)
    changed = bool(command_output("git", "status", "--porcelain", "--untracked-files=no"))
    return {"what": "collectives compared, float32 sum", "date": now.isoformat(timespec="seconds"),
            "commit": command_output("git", "rev-parse", "--short", "HEAD"),
            "uncommitted_changes": changed, "machine": machine(), "versions": versions,
            "sections": sections}


def title(whole):
    """Where and when, in one line."""
    place = whole["machine"]
    changes = " with uncommitted changes" if whole["uncommitted_changes"] else ""
    return (f"{place['cpu']}, {place['cores']} cores, Linux {place['kernel']}, {place['system']}; "
            f"{', '.join(sorted(whole['versions'].values()))}; commit {whole['commit']}{changes}, "
            f"{whole['date'][:10]}")


def file_name(whole, number):
    """Date and machine; a number where there are several of a day."""
    cpu = re.sub(r"\W+", "-", re.sub(r"\(\w+\)", "", whole["machine"]["cpu"])).strip("-").lower()
    suffix = "" if number == 1 else f"-{number}"
    return f"{whole['date'][:10]}-{cpu}-{whole['machine']['cores']}-cores-compare{suffix}.json"


def save(whole, folder=RESULTS):
    """The path of the new file."""
    folder.mkdir(exist_ok=True)
    number = 1
    while (folder / file_name(whole, number)).exists():
        number += 1
    path = folder / file_name(whole, number)
    path.write_text(text_of(whole))
    return path


def text_of(whole):
    """JSON with one line for each row of a table: a change of one is a change of one line."""
    rest = {key: value for key, value in whole.items() if key != "sections"}
    sections = ",\n".join(section_text(section) for section in whole["sections"])
    return json.dumps(rest, indent=1)[:-2] + f',\n "sections": [\n{sections}\n]}}\n'


def section_text(section):
    rest = {key: value for key, value in section.items() if key != "rows"}
    rows = ",\n".join(json.dumps(row) for row in section["rows"])
    return json.dumps(rest)[:-1] + f', "rows": [\n{rows}\n]}}'


def load(paths):
    """One document of several files; sections of later ones replace equal ones of earlier."""
    wholes = [json.loads(pathlib.Path(path).read_text()) for path in paths]
    sections, versions = {}, {}
    for whole in wholes:
        versions.update(whole["versions"])
        for section in whole["sections"]:
            key = (section["link"], section["ranks"], section["collective"], section["cache"])
            sections[key] = section
    return dict(wholes[-1], sections=list(sections.values()), versions=versions)
