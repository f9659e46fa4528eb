"""Schedules' texts, right and wrong ones, to compare two verifiers over."""

import random
import re

BASES = [("all_reduce", "ring", 3), ("all_reduce", "double_tree", 4), ("all_reduce", "one_shot", 3),
         ("all_reduce", "bidirectional_ring", 2), ("all_to_all", "pairwise", 3),
         ("barrier", "dissemination", 3), ("reduce_scatter", "circulant", 3), ("broadcast", "chain", 3),
         ("gather", "binomial_tree", 4), ("reduce", "double_tree", 3), ("scatter", "linear", 3),
         ("send_recv", "linear", 2)]


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


def right_and_wrong(rondo):
    """The bases, and twelve versions of each with a mistake or two. Always the same ones."""
    chance = random.Random(7)
    for collective, algorithm, ranks in BASES:
        text = rondo("schedule", collective, "-a", algorithm, "-n", ranks)[1]
        yield text
        for _ in range(12):
            lines = text.split("\n")
            for _ in range(chance.randint(1, 2)):
                chance.choice(MISTAKES)(lines, chance.randrange(len(lines)), chance)
            yield "\n".join(lines)
