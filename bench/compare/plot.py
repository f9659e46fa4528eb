#!/usr/bin/env python3
"""Draws results of bench/compare/run: plot.py FILE...

Writes two pictures beside the last file, with the time of a call over the size of the vector:
  all_reduce.svg   all_reduce, one panel for each link
  collectives.svg  the other collectives over the first link, a panel for each
Both show the smallest number of ranks that was measured. Of results of bench/hosts/run it draws one,
such as hosts-2x4-200mbit.svg, with a panel for each collective.
"""
import pathlib
import sys

import layout
import record
import summary
import svg_plot

CURVES = {  # name: (colour, variants; the fastest one counts)
    "rondo": ("#e8590c", ["rondo"]),
    "allocate()": ("#f0a030", ["allocate"]),
    "Open MPI": ("#3b82d6", ["openmpi", "openmpi han", "openmpi adapt"]),
    "MPICH": ("#2f9e6e", ["mpich"]),
    "gloo": ("#a070d0", ["gloo", "gloo bcube"]),
}
LINKS = {"shm": "shared memory", "tcp": "TCP, loopback"}


def curve(section, names):
    """([bytes], [us a call]) of the fastest of these variants; empty where none was measured."""
    points = []
    for raw in section["rows"]:
        row = summary.Row(section, raw)
        best = row.best(names)
        if best is not None:
            points.append((row.size, row.time(best)))
    return [point[0] for point in points], [point[1] for point in points]


def curves_of(section):
    """{name: (colour, [bytes], [us])} of what was measured."""
    found = {name: (colour, *curve(section, names)) for name, (colour, names) in CURVES.items()}
    return {name: points for name, points in found.items() if points[1]}


def heading(section):
    if section["link"] == "hosts":
        return f"{section['collective']}, {layout.text(summary.ranks_on(section))} ranks"
    return f"{section['collective']}, {LINKS[section['link']]}, {section['ranks']} ranks"


def fewest_ranks(sections):
    """One section for each link and collective, of which most ranks have a core of their own. Only
    warm caches: the pictures do not tell them from cold ones."""
    chosen = {}
    for section in sorted(sections, key=lambda one: one["ranks"], reverse=True):
        if (section["link"] in LINKS and ":" not in section["collective"] and
                section["cache"] == "warm" and curves_of(section)):
            chosen[section["link"], section["collective"]] = section
    return chosen


def pictures(whole):
    """{file name: sections}"""
    hosts = [section for section in whole["sections"]
             if section["link"] == "hosts" and curves_of(section)]   # one without times has no curve
    if hosts:
        ports = hosts[0].get("ports", 1)
        name = f"hosts-{layout.text(summary.ranks_on(hosts[0]))}-{whole['runs'][-1]['network']['rate']}"
        return {f"{name}{f'-{ports}-ports' if ports > 1 else ''}.svg": hosts}
    chosen = fewest_ranks(whole["sections"])
    reduces = [chosen[link, "all_reduce"] for link in LINKS if (link, "all_reduce") in chosen]
    first = next((link for link in LINKS if any(key[0] == link for key in chosen)), None)
    others = [section for (link, collective), section in chosen.items()
              if link == first and collective != "all_reduce"]
    found = {"all_reduce.svg": reduces,
             "collectives.svg": sorted(others, key=lambda one: one["collective"])}
    return {name: sections for name, sections in found.items() if sections}


def foot(whole, sections):
    """What is shown, where and when."""
    used = {row["run"] for section in sections for row in section["rows"]}
    runs = [whole["runs"][number] for number in sorted(used)]
    place, dates = runs[-1]["machine"], sorted({one["date"][:10] for one in runs})
    commits = ", ".join(dict.fromkeys(one["commit"] for one in runs))
    lines = ["Time of a call on the slowest rank, median over rounds, float32 sum. Lower is better.",
             f"{place['cores']} cores of an {place['cpu']}, {' and '.join(dates)}, commit {commits}."]
    if "network" in runs[-1]:
        lines.append(f"The hosts are network namespaces, with links of {runs[-1]['network']['rate']}.")
    if any("allocate()" in curves_of(section) for section in sections):
        lines.append("allocate(): rondo with its vectors in memory from rondo::allocate().")
    return lines


def draw(paths):
    """The paths of the pictures."""
    whole, folder = record.load(paths), pathlib.Path(paths[-1]).parent
    drawn = []
    for name, sections in pictures(whole).items():
        panels = [(heading(section), curves_of(section)) for section in sections]
        description = "Time of a call over its size: " + "; ".join(map(heading, sections))
        (folder / name).write_text(svg_plot.picture(panels, description, foot(whole, sections)))
        drawn.append(str(folder / name))
    return drawn


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    print("\n".join(draw(sys.argv[1:])))
