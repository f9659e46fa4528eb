"""A section as text: pure functions."""
import summary

COLUMNS = {"shm": ["rondo", "allocate", "openmpi", "mpich"],
           "tcp": ["rondo", "openmpi", "mpich", "gloo"]}


def size_text(size):
    for unit, width in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= width and size % width == 0:
            return f"{size // width} {unit}"
    return f"{size} B"


def number(value):
    """Three digits that matter."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio_text(ratio):
    return "-" if ratio is None else (
        f"{ratio['median']:.2f} [{ratio['min']:.2f}..{ratio['max']:.2f}]")


def time_text(line, name):
    """A time, or why there is none. gloo stands for the better of its two algorithms."""
    if name in line["failures"]:
        return "wrong" if "wrong" in line["failures"][name] else "failed"
    time = line["times"].get(name)
    if name == "gloo":
        times = [line["times"].get(one) for one in ("gloo", "gloo bcube")]
        time = min((one for one in times if one is not None), default=None)
    return number(time)


def verdict_text(verdicts):
    missed = [f"MISSED {one['what']} {one['value']:.2f} > {one['limit']:.2f}"
              for one in verdicts if not one["reached"]]
    if missed or not verdicts:
        return ", ".join(missed)
    by_floor = any(one.get("floor") for one in verdicts)
    return "reached (the sockets' floor)" if by_floor else "reached"


def row_cells(line, columns, with_floor, with_sockets):
    cells = [size_text(line["size"])] + [time_text(line, name) for name in columns]
    if with_floor:
        cells.append(number(line["floor"]))
    if with_sockets:
        cells.append(ratio_text(line["sockets"]))
    cells += [line["peer"] or "-", ratio_text(line["ratio"])]
    if "allocate" in columns:
        cells.append("-" if line["allocate_ratio"] is None
                     else f"{line['allocate_ratio']['median']:.2f}")
    processor = None if line["cpu"] is None else line["cpu"]["median"]
    return cells + [number(line["busbw"]), number(processor), verdict_text(line["verdicts"])]


def header(columns, with_floor, with_sockets):
    names = ["size", *columns] + (["floor"] if with_floor else [])
    names += (["rondo/sockets"] if with_sockets else []) + ["best peer", "rondo/peer"]
    names += ["allocate/peer"] if "allocate" in columns else []
    return names + ["busbw", "cpu/openmpi", "verdict"]


def aligned(rows, first=str.rjust, last=str.ljust):
    """The rows with all columns right-aligned, but for the first and the last as these say."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    align = [first, *[str.rjust] * (len(widths) - 2), last]
    for row in rows:
        yield "  ".join(put(cell, width) for put, cell, width in zip(align, row, widths)).rstrip()


def notes_of(section, lines):
    for library, why in section["missing"].items():
        yield f"{library} is not measured: {why}"
    for line in lines:
        for name, failure in line["failures"].items():
            yield f"{name} at {size_text(line['size'])}: {failure}"
    for size, why in section["notes"]:
        yield f"{size_text(size)} is left out: {why}" if size else why


def section_text(section):
    """Title, table, and what could not be measured."""
    lines = [summary.summarize(summary.Row(section, row)) for row in section["rows"]]
    with_floor = any(line["floor"] is not None for line in lines)
    with_sockets = any(line["sockets"] is not None for line in lines)
    columns = COLUMNS[section["link"]]
    caches = "" if section["cache"] == "warm" else ", caches flushed"
    text = [f"{section['collective']}, float32, {section['ranks']} ranks, {section['link']}{caches}: "
            "median us of the slowest rank; ratios are medians over rounds [min..max]; busbw in GB/s"]
    if lines:
        rows = [header(columns, with_floor, with_sockets)]
        rows += [row_cells(line, columns, with_floor, with_sockets) for line in lines]
        text += aligned(rows)
    text += notes_of(section, lines)
    return "\n".join(text)


def quiet_text(section, cores):
    """Whether the measuring was disturbed, by its own waiting jobs or by others."""
    idle = ", ".join(f"{library} {seconds:.2f}" for library, seconds in sorted(section.idle.items()))
    whole = max(section.measuring * cores, 1e-9)
    return (f"while measuring, other processes used {section.foreign / whole:.0%} of the cores and "
            f"the host took {section.stolen / whole:.0%}; processor seconds of jobs while waiting: {idle}")


def missed(sections):
    """How many bars were missed, and how many there were."""
    found = [one for section in sections for row in section["rows"]
             for one in summary.verdicts(summary.Row(section, row))]
    return sum(not one["reached"] for one in found), len(found)
