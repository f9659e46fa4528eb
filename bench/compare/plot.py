#!/usr/bin/env python3
"""Draws results of bench/compare/run: plot.py FILE...; PNG and SVG beside the last file.

For each link one picture. All-reduce has one panel for each number of ranks: time over size, and
below it busbw as a part of what copying the same bytes allows (without that floor: busbw itself).
The other collectives follow in smaller panels.
"""
import pathlib
import sys
import textwrap

import record
import summary

COLOURS = {"rondo": "#c1272d", "allocate": "#f08030", "openmpi": "#1f5fa8", "mpich": "#4f9d69",
           "gloo": "#7d5ba6", "gloo bcube": "#b79fd6", "copy": "#999999"}
LABELS = {"rondo": "rondo", "allocate": "rondo, allocate()", "openmpi": "Open MPI",
          "mpich": "MPICH", "gloo": "gloo (ring)", "gloo bcube": "gloo (bcube)"}


def curve(section, name, value):
    """([bytes], [value(row, microseconds)]) of one variant; empty where it was not measured."""
    points = []
    for raw in section["rows"]:
        row = summary.Row(section, raw)
        time = row.time(name)
        if time is not None and (number := value(row, time)) is not None:
            points.append((row.size, number))
    return [point[0] for point in points], [point[1] for point in points]


def time_curves(section):
    """{variant: ([bytes], [microseconds])}"""
    curves = {name: curve(section, name, lambda row, time: time) for name in LABELS}
    return {name: points for name, points in curves.items() if points[0]}


def bandwidth_value(row, time):
    """busbw in GB/s."""
    return summary.busbw(row.collective, row.ranks, row.size, time)


def floor_part(row, time):
    """busbw over the busbw that copying each rank's vector once would give."""
    return None if row.floor() is None else row.floor() / time


def bandwidth_curves(section):
    """({variant: curve}, label of the axis)"""
    has_floor = any("copy" in row["variants"] for row in section["rows"])
    value = floor_part if has_floor else bandwidth_value
    curves = {name: curve(section, name, value) for name in LABELS}
    label = "busbw / copy limit" if has_floor else "busbw, GB/s"
    return {name: points for name, points in curves.items() if points[0]}, label


def size_ticks(curves):
    """Three to six powers of two over all sizes, with their names."""
    found = sorted({size for sizes, _ in curves.values() for size in sizes})
    step = max(1, len(found) // 5)
    chosen = found[::step]
    return chosen, [short_size(size) for size in chosen]


def short_size(size):
    for unit, width in (("M", 1 << 20), ("K", 1 << 10)):
        if size >= width:
            return f"{size // width}{unit}"
    return str(size)


def draw(axes, curves, title, label, logarithmic):
    for name, (sizes, values) in curves.items():
        axes.plot(sizes, values, marker="o", markersize=3, linewidth=1.4, color=COLOURS[name])
    axes.set_xscale("log", base=2)
    if logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    if curves:
        axes.set_xticks(*size_ticks(curves))
    axes.minorticks_off()
    axes.grid(True, linewidth=0.3)
    axes.set_title(title, fontsize=9)
    axes.set_ylabel(label, fontsize=8)
    axes.tick_params(labelsize=7)


def layout(sections):
    """(ranks in order, collectives in order) of one link's sections."""
    ranks = sorted({section["ranks"] for section in sections})
    collectives = list(dict.fromkeys(section["collective"] for section in sections))
    return ranks, collectives


def panels(sections):
    """Rows of the picture: [(height, [(curves, title, label, logarithmic) or None a column])]"""
    ranks, collectives = layout(sections)
    by_place = {(section["ranks"], section["collective"]): section for section in sections}
    rows = []
    for collective in sorted(collectives, key=lambda name: name != "all_reduce"):
        found = [by_place.get((number, collective)) for number in ranks]
        height = 3.0 if collective == "all_reduce" else 1.8
        rows.append((height, [section and (time_curves(section), heading(section), "us a call", True)
                              for section in found]))
        if collective == "all_reduce":
            rows.append((2.4, [section and (*bandwidth_panel(section),) for section in found]))
    return rows


def heading(section):
    shared = ", sharing cores" if section["oversubscribed"] else ""
    return f"{section['collective']}, {section['ranks']} ranks{shared}"


def bandwidth_panel(section):
    curves, label = bandwidth_curves(section)
    return curves, heading(section), label, False


def picture(plotting, whole, link):
    """A figure of all of one link's sections."""
    rows = panels([section for section in whole["sections"] if section["link"] == link])
    columns = max(len(cells) for _, cells in rows)
    heights = [height for height, _ in rows]
    figure, grid = plotting.subplots(len(rows), columns, squeeze=False, layout="constrained",
                                     figsize=(max(5.0, 3.6 * columns), sum(heights) + 1.2),
                                     gridspec_kw={"height_ratios": heights})
    shown = set()
    for line, (_, cells) in zip(grid, rows):
        for axes, cell in zip(line, cells):
            if cell is None:
                axes.set_axis_off()
            else:
                draw(axes, *cell)
                shown.update(cell[0])
    handles = [plotting.Line2D([], [], color=COLOURS[name], marker="o", markersize=4, label=label)
               for name, label in LABELS.items() if name in shown]
    margin = 0.4 / figure.get_figheight()  # inches below for the legend
    figure.get_layout_engine().set(rect=(0, margin, 1, 1 - margin))
    figure.legend(handles=handles, loc="lower center", ncols=6, fontsize=8)
    figure.suptitle(title_text(whole, link, figure.get_figwidth()), fontsize=8)
    return figure


def title_text(whole, link, inches):
    lines = textwrap.wrap(record.title(whole), int(14 * inches))
    return "\n".join([f"Collectives over {link}, float32", *lines])


def main(paths):
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "rondo"  # equal data, equal file
    from matplotlib import pyplot
    whole = record.load(paths)
    stem = pathlib.Path(paths[-1]).with_suffix("")
    for link in dict.fromkeys(section["link"] for section in whole["sections"]):
        figure = picture(pyplot, whole, link)
        for suffix in ("png", "svg"):
            path = f"{stem}-{link}.{suffix}"
            figure.savefig(path, dpi=110, metadata={"Date": None} if suffix == "svg" else None)
            print(path)
        pyplot.close(figure)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1:])
