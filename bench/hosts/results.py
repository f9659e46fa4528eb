"""Files of results: named by date and machine, joined row by row."""
import json
import pathlib

import record


def save(whole, folder):
    """The path of the new file."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 1
    while (path := folder / file_name(whole, number)).exists():
        number += 1
    path.write_text(record.text_of(whole))
    return path


def file_name(whole, number):
    return record.file_name(whole, number).replace("-compare", "-hosts")


def join(paths):
    """One document: rows of later files replace equal ones of earlier. The link's rate is the
    highest that was measured: the bar is never lowered by joining."""
    wholes = [json.loads(pathlib.Path(path).read_text()) for path in paths]
    sections, versions = {}, {}
    for whole in wholes:
        versions.update(whole["versions"])
        for section in whole["sections"]:
            key = (section["ranks"], section["collective"])
            sections[key] = section if key not in sections else united(sections[key], section)
    network = max((whole["network"] for whole in wholes), key=lambda one: one["payload_gb_s"])
    return dict(wholes[-1], sections=list(sections.values()), versions=versions, network=network)


def united(first, second):
    rows = {row["bytes"]: row for row in first["rows"] + second["rows"]}
    notes = [note for note in first["notes"] + second["notes"] if note[0] not in rows]
    return dict(second, rows=[row for _, row in sorted(rows.items())], notes=notes,
                missing={**first["missing"], **second["missing"]})
