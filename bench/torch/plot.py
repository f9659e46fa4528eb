#!/usr/bin/env python3
"""Draws the results of bench/torch/steps.py: a bar for gloo's step and one for rondo's, for each model.

    bench/torch/plot.py steps.json > steps.svg

The dark part of a bar is communication. The light part is the step without communication.
"""

import json
import sys

COLOURS = {"gloo": ("#c9a8ea", "#8a55c4"), "rondo": ("#f6b48c", "#e8590c")}
INK = "#7a828c"  # reads on light and on dark pages
LEFT, BAR, PAIR, GAP, WIDE, TOP = 290, 13, 30, 6, 385, 56


def text(x, y, words, anchor="start", size=12):
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{INK}">{words}</text>'


def bars(top, scale, name, result):
    whole, rest = result["step_ms"].get(name), result["communication_ms"].get(name)
    if whole is None:
        return [text(LEFT + 4, top + BAR - 3, f"{name}: not supported")]
    light, dark = COLOURS[name]
    base = max(0, whole - rest)
    return [f'<rect x="{LEFT}" y="{top}" width="{base * scale:.1f}" height="{BAR}" fill="{light}"/>',
            f'<rect x="{LEFT + base * scale:.1f}" y="{top}" width="{max(0, rest) * scale:.1f}" '
            f'height="{BAR}" fill="{dark}"/>',
            text(f"{LEFT + whole * scale + 5:.1f}", top + BAR - 3,
                 f"{name} {whole:.0f} ms, {rest:.0f} ms communication", size=11)]


def where(runs):
    """Machine, dates and commits of the runs."""
    return ", ".join(dict.fromkeys(run[key] for key in ("machine", "date", "commit") for run in runs))


def draw(runs):
    rows = [(run.get("network") or f"{run['processes']} ranks", result)
            for run in runs for result in run["results"]]
    longest = max(time for _, result in rows for time in result["step_ms"].values())
    parts = [text(10, 24, "Training steps of torch: gloo and rondo", size=16)]
    scale, top = WIDE / longest, TOP
    parts.append(text(10, 42, f"dark: communication; light: the rest. {where(runs)}"))
    for place, result in rows:
        label = f"{result['kind']}, {result['parameter_mb']:.0f} MB, {place}"
        parts.append(text(LEFT - 8, top + BAR + 4, label, "end"))
        for offset, name in enumerate(("gloo", "rondo")):
            parts += bars(top + offset * (BAR + 2), scale, name, result)
        top += PAIR + GAP
    size = f'width="{LEFT + WIDE + 215}" height="{top}"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">\n'
            + "\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        sys.stdout.write(draw(json.load(file)))
