"""How many ranks each host has: [4, 4] is "2x4", [1, 7] is "1+7". The words are those of `rondo`."""
import argparse


def parse(text):
    """The ranks on each host; argparse's error if the text is none."""
    sizes = []
    for part in text.split("+"):
        count, cross, size = part.rpartition("x")
        sizes += [positive(size, text)] * (positive(count, text) if cross else 1)
    if len(sizes) < 2:
        raise argparse.ArgumentTypeError(f"'{text}' is one host; try 2x4 for two with 4 ranks each")
    return sizes


def positive(word, whole):
    if not word.isascii() or not word.isdigit() or int(word) < 1:
        raise argparse.ArgumentTypeError(
            f"'{word}' in '{whole}' is not a number from 1 on; try 2x4 for two hosts with 4 ranks "
            "each, or 1+7 for one with 1 and one with 7")
    return int(word)


def text(ranks_on):
    if len(set(ranks_on)) == 1:
        return f"{len(ranks_on)}x{ranks_on[0]}"
    return "+".join(map(str, ranks_on))
