"""Builds a collective of your own: a function that yields the steps of a rank.

    from rondo import schedule
    from rondo.schedule import input, output, receive, send

    def line(rank, ranks, root):                # a broadcast along a line; without a root: line(rank, ranks)
        place = (rank - root) % ranks
        if place == 0:
            yield schedule.copy(input[0], output[0])
        else:
            yield schedule.round(place)
            yield receive((rank - 1) % ranks, output[0])
        if place < ranks - 1:
            yield schedule.round(place + 1)
            yield send(output[0], (rank + 1) % ranks)

    made = schedule.Schedule("broadcast", line, ranks=4, name="line")
    made.verify()                               # rondo.Error names what is wrong
    print(made.draw())                          # or draw(root=2)
    made.save("line.schedule")                  # for RONDO_SCHEDULES, or the schedules= of a world

The text is explained in tools/examples/schedules/README.md. There, loops serve any number of ranks.
Errors such as "text():12:20: expected a rank" name a line and a column of made.text().
"""

from dataclasses import dataclass

from rondo import _rondo

__all__ = ["Schedule", "copy", "input", "output", "receive", "receive_reduce", "reduce", "round",
           "scratch", "send"]


@dataclass(frozen=True)
class Chunk:
    """Chunks of a buffer: input[2], or input[2:5] for three of them."""
    buffer: str
    first: int
    last: int

    def __str__(self):
        run = f"{self.first}..{self.last}" if self.last != self.first else f"{self.first}"
        return f"{self.buffer}[{run}]"


class Buffer:
    """input, output or scratch(n): its chunks by number."""

    def __init__(self, name):
        self.name = name

    def __getitem__(self, place):
        if not isinstance(place, slice):
            return Chunk(self.name, int(place), int(place))
        if place.step is not None or place.start is None or place.stop is None or place.stop <= place.start:
            raise ValueError(f"{self.name}[{place.start}:{place.stop}] has no chunks. Try: FIRST:END")
        return Chunk(self.name, place.start, place.stop - 1)


input = Buffer("input")
output = Buffer("output")


def scratch(slot, last=None):
    """A slot of extra memory; with `last`, those from `slot` to it, for reduce()."""
    return Buffer(f"scratch{slot}" + (f"..{last}" if last is not None else ""))


@dataclass(frozen=True)
class Step:
    words: str
    sent: tuple = ()  # the chunk and the rank, for draw()


@dataclass(frozen=True)
class Label:
    number: int
    phase: str


def round(number, phase=None):
    """Labels the steps that follow: round `number` (from 1) of a phase."""
    return Label(number, phase)


def send(chunk, to):
    return Step(f"send {chunk} to {to}", (chunk, to))


def receive(rank, into):
    return Step(f"receive from {rank} into {into}")


def receive_reduce(rank, own, into, received_first=True):
    """What comes from `rank` is combined with `own`; their order decides the bits of floats."""
    order = f"from {rank} then {own}" if received_first else f"{own} then from {rank}"
    return Step(f"receive_reduce {order} into {into}")


def reduce(slots, into):
    """reduce(scratch(0, 3)[5], output[5]): the chunk in each of the slots, combined in order."""
    return Step(f"reduce {slots} into {into}")


def copy(chunk, into):
    return Step(f"copy {chunk} into {into}")


def _checked(rank, steps):
    """What a rank yields, as a list."""
    steps = [steps] if steps is None else list(steps)
    for each in steps:
        if not isinstance(each, (Step, Label)):
            raise TypeError(f"rank {rank} yields {each!r}. Try: what the functions of rondo.schedule return")
    return steps


ROOTED = ("broadcast", "reduce", "scatter", "gather")
MOST_BYTES = 1 << 20  # of all texts of a job


def _line_of(each):
    """A step, or a round, in the text form."""
    if isinstance(each, Step):
        return "  " + each.words
    phase = f'phase "{each.phase}" ' if each.phase else ""
    return f" {phase}round {each.number}"


class Schedule:
    """A collective of `ranks` ranks. `steps` takes a rank, their number and, where the collective has one,
    the root. It yields steps and rounds.

    parts: chunks in each block. depth: messages that a channel must hold.

    The text has every step of every rank, for each root. A job takes up to 1 MiB of texts. For a hundred
    ranks and more, write a text with loops.
    """

    def __init__(self, collective, steps, ranks, name, parts=1, depth=1):
        self.ranks = ranks
        self.rooted = collective in ROOTED
        roots = [(root,) for root in range(ranks)] if self.rooted else [()]
        self.steps = [[_checked(rank, steps(rank, ranks, *root)) for rank in range(ranks)] for root in roots]
        phases = dict.fromkeys(each.phase for ranks_steps in self.steps for of in ranks_steps for each in of
                               if isinstance(each, Label) and each.phase)
        self.header = [f"collective {collective}", f"algorithm {name}", f"ranks {ranks}", f"depth {depth}",
                       f"parts {parts}"]
        if self.rooted:
            self.header.append("root any")
        if phases:
            self.header.append("phases " + " ".join(f'"{phase}"' for phase in phases))

    def text(self):
        """The text form, which rondo's programs read."""
        lines = list(self.header)
        for rank in range(self.ranks):
            lines += ["", f"rank {rank}"]
            for root, ranks_steps in enumerate(self.steps):
                lines += [f" if root == {root}"] if self.rooted else []
                lines += map(_line_of, ranks_steps[rank])
                lines += [" end"] if self.rooted else []
        return "\n".join(lines) + "\n"

    def verify(self):
        """Raises rondo.Error with what is wrong. Returns the schedule."""
        _rondo.verify_schedule(self.text())
        return self

    def draw(self, root=0):
        """What each rank sends, round by round: "2>1" is chunk 2 to rank 1."""
        cells = {}
        order = {}
        for rank, steps in enumerate(self.steps[root if self.rooted else 0]):
            label = Label(1, None)
            for each in steps:
                if isinstance(each, Label):
                    label = Label(each.number, each.phase or label.phase)
                elif each.sent:
                    chunk, peer = each.sent
                    run = f"{chunk.first}" if chunk.first == chunk.last else f"{chunk.first}-{chunk.last}"
                    cells.setdefault((label, rank), []).append(f"{run}>{peer}")
                    order.setdefault(label.phase, set()).add(label.number)
        rows = [["round", *(f"rank {rank}" for rank in range(self.ranks))]]
        for phase, numbers in order.items():
            if phase:
                rows.append([phase])
            rows += [[str(number), *(" ".join(cells.get((Label(number, phase), rank), ["."]))
                                     for rank in range(self.ranks))] for number in sorted(numbers)]
        width = max(len(cell) for row in rows for cell in row[1:])
        return "\n".join("  ".join([row[0].ljust(5), *(cell.ljust(width) for cell in row[1:])]).rstrip()
                         for row in rows)

    def save(self, path):
        """Writes the text. ValueError: it is longer than the 1 MiB that a job takes."""
        text = self.text()
        if len(text) > MOST_BYTES:
            raise ValueError(f"{path}: the text has {len(text)} bytes, a job takes {MOST_BYTES}. "
                             "Try: a text with loops")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
