"""What the measurements must reach, and whether they do: fields "bar" and "reached"."""

FLOATS = ("float32", "float16", "bfloat16")
SMALL, LARGE = 8, 64 << 20  # bytes
MOST_MEMORY = 64 << 20      # bytes of a GPU's memory for one ncclCommInitRank at 8 ranks
OF_THREADS = ("threads", "one_thread", "one_stream")
# Only a capture that holds all ranks can be one launch. Captures of each rank's own wait for flags.
GRAPHS = {"one_stream": " in a graph", "one_thread": " in a graph",
          "threads": " in graphs of each rank's own"}


def at_least(what, value, bar):
    return {"what": what, "value": value, "bar": bar, "reached": value >= bar}


def at_most(what, value, bar):
    return {"what": what, "value": value, "bar": bar, "reached": value <= bar}


def points(lines, **wanted):
    return [line for line in lines if line.get("kind") == "sweep"
            and all(line[name] == value for name, value in wanted.items())]


def shortest(line):
    return min(line["microseconds"], line.get("microseconds_in_graph", float("inf")))


def of_reductions(lines):
    return [at_least(f"reduction of {line['operands']} {line['type']}, {line['bytes']} bytes: part "
                     "of the speed of a copy", line["of_copy"], 0.9)
            for line in lines if line.get("kind") == "reduction" and line["bytes"] >= LARGE
            and line["type"] in FLOATS]


def of_large_calls(lines):
    """Each rank's input is read and output written once: 2PN bytes at the speed of a copy."""
    speeds = {line["form"]: line["gigabytes_per_second"] for line in lines
              if line.get("kind") == "copy" and "form" in line}
    found = []
    for form in OF_THREADS:
        for line in points(lines, form=form, collective="all_reduce", ranks=8, bytes=LARGE):
            if form in speeds:
                least = 2 * 8 * LARGE / (speeds[form] * 1e3)  # microseconds
                found.append(at_least(f"all_reduce, 64 MB, 8 ranks, {form}: part of 2PN/bandwidth",
                                      least / shortest(line), 0.8))
    return found


def of_small_calls(lines):
    found = []
    for form in OF_THREADS:
        for line in points(lines, form=form, collective="all_reduce", bytes=SMALL):
            what = f"all_reduce, 8 B, {line['ranks']} ranks, {form}: microseconds"
            found.append(at_most(what, line["microseconds"], 12))
            if "microseconds_in_graph" in line:
                found.append(at_most(what + GRAPHS[form], line["microseconds_in_graph"], 8))
    return found


def of_processes(lines):
    found = []
    for line in points(lines, form="processes", collective="all_reduce", bytes=LARGE):
        for other in points(lines, form="threads", collective="all_reduce", bytes=LARGE,
                            ranks=line["ranks"]):
            found.append(at_most(f"all_reduce, 64 MB, {line['ranks']} processes: times the threads'",
                                 shortest(line) / shortest(other), 3))
    return found


def of_memory(lines):
    return [at_most(f"device memory of one of 8 ranks, {line['form']}: bytes",
                    line["device_bytes_of_one"], MOST_MEMORY)
            for line in lines if line.get("kind") == "memory" and line["ranks"] == 8]


def bars(lines):
    return [bar for part in (of_reductions, of_large_calls, of_small_calls, of_processes, of_memory)
            for bar in part(lines)]
