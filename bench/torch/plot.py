#!/usr/bin/env python3
"""Draws what bench/torch/steps.py wrote: a bar of gloo's step and one of rondo's for each model.

    bench/torch/plot.py steps.json > steps.svg

The dark part of a bar is communication, the light part what a step takes without any.
"""

import json
import sys

COLOURS = {"gloo": ("#b8b8b8", "#666666"), "rondo": ("#9ecae8", "#1f6fae")}
LEFT, BAR, PAIR, GAP, WIDE, TOP = 190, 14, 34, 14, 560, 56


def text(x, y, words, anchor="start", size=12):
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{words}</text>'


def bars(top, scale, name, result):
    whole, rest = result["step_ms"].get(name), result["communication_ms"].get(name)
    if whole is None:
        return [text(LEFT + 4, top + BAR - 3, f"{name} cannot")]
    light, dark = COLOURS[name]
    base = max(0, whole - rest)
    return [f'<rect x="{LEFT}" y="{top}" width="{base * scale:.1f}" height="{BAR}" fill="{light}"/>',
            f'<rect x="{LEFT + base * scale:.1f}" y="{top}" width="{max(0, rest) * scale:.1f}" '
            f'height="{BAR}" fill="{dark}"/>',
            text(f"{LEFT + whole * scale + 5:.1f}", top + BAR - 3,
                 f"{name} {whole:.0f} ms, of it {rest:.0f}", size=11)]


def draw(runs):
    rows = [(run["processes"], result) for run in runs for result in run["results"]]
    longest = max(time for _, result in rows for time in result["step_ms"].values())
    scale, parts, top = WIDE / longest, [text(10, 24, "A training step: rondo and gloo", size=16)], TOP
    parts.append(text(10, 42, "light: without communication; dark: communication"))
    for processes, result in rows:
        label = f"{result['kind']}, {result['parameter_mb']:.0f} MB, {processes} ranks"
        parts.append(text(LEFT - 8, top + BAR + 4, label, "end"))
        for offset, name in enumerate(("gloo", "rondo")):
            parts += bars(top + offset * (BAR + 2), scale, name, result)
        top += PAIR + GAP
    size = f'width="{LEFT + WIDE + 190}" height="{top}"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">\n'
            '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        sys.stdout.write(draw(json.load(file)))
