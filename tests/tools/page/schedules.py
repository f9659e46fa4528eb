"""Schedules' texts, right and wrong ones, to compare two verifiers over."""

import random
import re

BASES = [("all_reduce", "ring", 3), ("all_reduce", "double_tree", 4), ("all_reduce", "one_shot", 3),
         ("all_reduce", "bidirectional_ring", 2), ("all_to_all", "pairwise", 3),
         ("barrier", "dissemination", 3), ("reduce_scatter", "circulant", 3), ("broadcast", "chain", 3),
         ("gather", "binomial_tree", 4), ("reduce", "double_tree", 3), ("scatter", "linear", 3),
         ("send_recv", "linear", 2), ("scan", "recursive_doubling", 3), ("exclusive_scan", "chain", 3)]


def delete(lines, at, _chance):
    del lines[at]


def swap(lines, at, chance):
    other = chance.randrange(len(lines))
    lines[at], lines[other] = lines[other], lines[at]


def repeat(lines, at, _chance):
    lines.insert(at, lines[at])


def renumber(lines, at, chance):
    lines[at] = re.sub(r"\d+", lambda _: str(chance.randrange(4)), lines[at], count=1)


def other_chunk(lines, at, chance):
    lines[at] = re.sub(r"\[\d+\]", lambda _: f"[{chance.randrange(4)}]", lines[at], count=1)


def other_buffer(lines, at, chance):
    names = ["input", "output", "scratch0", "scratch1"]
    lines[at] = re.sub(r"(input|output|scratch\d+)\[", lambda _: chance.choice(names) + "[", lines[at],
                       count=1)


def other_order(lines, at, _chance):
    lines[at] = re.sub(r"receive_reduce from (\d+) then (\S+)", r"receive_reduce \2 then from \1", lines[at])


def cut(lines, at, _chance):
    lines[at] = " ".join(lines[at].split()[:-1])


MISTAKES = [delete, swap, repeat, renumber, other_chunk, other_buffer, other_order, cut]


# Each has one mistake that all other checks let pass.
SINGLE_MISTAKES = [
    # The order of operands differs between the ranks.
    "collective all_reduce\nranks 2\n"
    "rank 0\nsend input[0] to 1\nreceive_reduce input[0] then from 1 into output[0]\n"
    "rank 1\nsend input[0] to 0\nreceive_reduce input[0] then from 0 into output[0]\n",
    # Input is read after output of the same chunk was written.
    "collective all_reduce\nranks 2\n"
    "rank 0\nreceive_reduce input[0] then from 1 into output[0]\nsend input[0] to 1\n"
    "rank 1\nsend input[0] to 0\nreceive_reduce from 0 then input[0] into output[0]\n",
    # Two lanes share scratch; two lanes write one chunk; one reads what the other overwrites.
    "collective all_to_all\nranks 1\nlanes 2\n"
    "rank 0 lane 0\ncopy input[0] into scratch0[0]\nrank 0 lane 1\ncopy scratch0[0] into output[0]\n",
    "collective all_to_all\nranks 1\nlanes 2\n"
    "rank 0 lane 0\ncopy input[0] into output[0]\nrank 0 lane 1\ncopy input[0] into output[0]\n",
    "collective broadcast\nranks 1\nlanes 2\n"
    "rank 0 lane 0\ncopy input[0] into scratch0[0]\nrank 0 lane 1\ncopy input[0] into output[0]\n",
    # A channel of depth 1 is full; nobody receives; a message is left.
    "collective send_recv\nranks 2\nparts 2\nrank 0\nsend input[0] to 1\nsend input[1] to 1\n"
    "send input[1] to 1\nrank 1\nreceive from 0 into output[0]\nreceive from 0 into output[1]\n",
    # A rank is counted twice; twice the same is no fault of a barrier's token.
    "collective all_reduce\nranks 1\nrank 0\ncopy input[0] into scratch0[0]\n"
    "copy input[0] into scratch1[0]\nreduce scratch0..1[0] into output[0]\n",
    "collective barrier\nranks 1\nrank 0\ncopy input[0] into scratch0[0]\n"
    "copy input[0] into scratch1[0]\nreduce scratch0..1[0] into output[0]\n",
    # Chunks are mixed; the length changes; the input is written; the buffer is another rank's.
    "collective broadcast\nranks 1\nparts 2\nrank 0\ncopy input[0..1] into output[1..0]\n",
    "collective broadcast\nranks 1\nparts 2\nrank 0\ncopy input[0..1] into output[0]\n",
    "collective broadcast\nranks 1\nrank 0\ncopy input[0] into output[0]\ncopy output[0] into input[0]\n",
    "collective broadcast\nranks 2\nrank 0\ncopy input[0] into output[0]\n"
    "rank 1\ncopy input[0] into output[0]\n",
]


def right_and_wrong(rondo):
    """The bases, and twelve versions of each with a mistake or two. They are always the same."""
    yield from SINGLE_MISTAKES
    chance = random.Random(7)
    for collective, algorithm, ranks in BASES:
        text = rondo("schedule", collective, "-a", algorithm, "-n", ranks)[1]
        yield text
        for _ in range(12):
            lines = text.split("\n")
            for _ in range(chance.randint(1, 2)):
                chance.choice(MISTAKES)(lines, chance.randrange(len(lines)), chance)
            yield "\n".join(lines)
