"""libnccl's calls as nccl-tests makes them: every collective, size and form of sharing a GPU."""

COLUMNS = "{:>12} {:>12} {:>8} {:>7} {:>10} {:>9} {:>9} {:>7} {:>11}"


def sizes(context, factor=2):
    few = ["--to", "64K", "--factor", "64", "--point-seconds", "0.002"]
    return few if context.brief else ["--factor", str(factor)]


def sweep(context, form, *arguments):
    """The program ends by itself before it would be ended."""
    own = max(1.0, 0.85 * context.left() - 3)
    context.program("gpu_sweep", "--form", form, "--seconds", f"{own:.1f}", *arguments,
                    *sizes(context))
    context.text += tables(context.lines)


def one_stream(context):
    sweep(context, "one_stream", "--collectives", "all_reduce", "--graph-to", "256M")


def one_thread(context):
    sweep(context, "one_thread")


def threads(context):
    sweep(context, "threads")


def processes(context):
    """All-reduces of all numbers of ranks come first, as contexts that take turns may be slow."""
    begin = context.left()
    for collectives, until, factor in (("all_reduce", 0.45, 2),
                                       ("all_gather,reduce_scatter,broadcast,reduce,alltoall,"
                                        "scatter,gather,sendrecv", 0.95, 4)):
        own = max(1.0, until * begin - (begin - context.left()) - 2)
        context.program("gpu_sweep", "--form", "processes", "--seconds", f"{own:.1f}",
                        "--collectives", collectives, *sizes(context, factor),
                        share=min(1.0, (own + 6) / max(context.left(), 1)))
    context.text += tables(context.lines)


def tables(lines):
    """A table like nccl-tests' for each form, collective and number of ranks."""
    text, before = "", None
    for line in lines:
        if line.get("kind") != "sweep":
            continue
        name = (line["form"], line["collective"], line["ranks"])
        if name != before:
            text += "\n# {}: {}_perf, {} ranks on one GPU\n".format(*name)
            text += COLUMNS.format("size", "count", "type", "redop", "time", "algbw", "busbw",
                                   "#wrong", "time/graph") + "\n"
            text += COLUMNS.format("(B)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)") + "\n"
        before = name
        replayed = line.get("microseconds_in_graph")
        text += COLUMNS.format(line["bytes"], line["count"], line["type"], line["redop"],
                               f"{line['microseconds']:.2f}", f"{line['algbw']:.2f}",
                               f"{line['busbw']:.2f}", line["wrong"],
                               f"{replayed:.2f}" if replayed else "-") + "\n"
    return text
