"""What programs that measure have in common: options, statuses, runs of *_perf, two sides in turn."""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from record import ROOT

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SKIPPED = 77


class Failure(Exception):
    """A program that was started did not do what it was asked for."""


def parser(words, what="the programs are"):
    made = argparse.ArgumentParser(description=words,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin",
                      metavar="FOLDER", help=f"where {what} (default build/release/bin)")
    return made


def size(text):
    """"64K" in bytes."""
    match = re.fullmatch(r"(\d+)([KMG]?)B?", text.strip().upper())
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; write 8, 64K or 1M")
    return int(match.group(1)) * UNITS[match.group(2)]


def sizes(text):
    """"8,1K,16M" in bytes, of whole floats."""
    found = {size(word) // 4 * 4 for word in text.split(",")}
    if min(found) < 4:
        raise argparse.ArgumentTypeError(f"'{text}' has a size below 4 B")
    return sorted(found)


def positive(text):
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of 1 or more")
    return int(text)


def names_of(known):
    def parse(text):
        words = text.split(",")
        for word in words:
            if word not in known:
                raise argparse.ArgumentTypeError(f"'{word}' is none of {', '.join(known)}")
        return words
    return parse


def run(main, unable=()):
    """Ends this program with the status of main(). `unable`: exceptions that say what this machine lacks."""
    try:
        sys.exit(main())
    except unable as reason:
        print(reason, file=sys.stderr)
        sys.exit(SKIPPED)
    except Failure as reason:
        print(reason, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted; nothing saved", file=sys.stderr)
        sys.exit(130)


def output_of(words, limit=None, environment=(), folder=None):
    """What the command prints. Failure where it does not end well, or not within `limit` seconds."""
    words = [str(word) for word in words]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit, cwd=folder,
                              env={**os.environ, **dict(environment)})
    except FileNotFoundError:
        raise Failure(f"there is no {words[0]}. Try: tools/build, or --bin FOLDER") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(str(error)) from None
    if done.returncode != 0:
        raise Failure(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def microseconds(words, **more):
    """Of a call out of place, for each size of this *_perf, which does not check its data. `more` as
    output_of()'s."""
    with tempfile.TemporaryDirectory() as scratch:  # -J never overwrites a report
        output_of([*words, "-c", "0", "-J", f"{scratch}/report"], folder=scratch, **more)
        report = json.loads((pathlib.Path(scratch) / "report").read_text())
    return [float(line["out_of_place"]["time"]) for line in report["results"]]


def in_turn(first, second, rounds):
    """[(first(), second())] of each round, in which they take turns in coming first: so a machine that
    changes speed changes both."""
    found = []
    for number in range(rounds):
        order = [first, second] if number % 2 == 0 else [second, first]
        values = {measure: measure() for measure in order}
        found.append((values[first], values[second]))
    return found


def quartiles_text(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f} [{low:.2f}..{high:.2f}]"
