"""What a step may use while it runs: commands, time, output."""

import re
import shutil
import time

from steps.execute import TOO_LONG, execute

LINES = shutil.which("stdbuf")
LEAST = 0.2     # seconds that are worth beginning a command
NOT_RUN = re.compile("^not run: (.*)$", re.MULTILINE)  # what a program says that ends with status 77
NO_TIME = "no time was left"
PASSED, FAILED, TIMED_OUT, LEFT_OUT = "passed", "failed", "timed out", "left out"
STOPPED = "not run"  # of a whole step: one that all others need went wrong


def outcome_of(done, may_be_cut):
    """What became of a command that has begun, and why it counts as left out."""
    if done.status == TOO_LONG:
        return (LEFT_OUT, NO_TIME) if may_be_cut else (TIMED_OUT, "")
    obstacle = NOT_RUN.search(done.text) if done.status == 77 else None
    if obstacle:
        return LEFT_OUT, obstacle[1]
    return PASSED if done.status == 0 else FAILED, ""


class LeftOut(Exception):
    """Why a step, or the rest of it, is not done here."""


class Context:
    """One step's run. It has failed as soon as one of its commands has, but goes on with the
    others. `limit`: seconds for all of them together. `reasons`: why something of it was left out."""

    def __init__(self, place, limit, brief):
        self.place, self.brief = place, brief
        self.end = time.monotonic() + limit
        self.commands, self.lines, self.text, self.reasons = [], [], "", []

    def left(self):
        return max(0.0, self.end - time.monotonic())

    def outcome(self):
        """The outcome of the step: the worst of its commands'. It is left out only where none passed."""
        found = {command["outcome"] for command in self.commands}
        worst = (each for each in (FAILED, TIMED_OUT, PASSED, LEFT_OUT) if each in found)
        return next(worst, LEFT_OUT if self.reasons else PASSED)

    def needs_gpu(self, what):
        """For a step that needs what no rehearsal has."""
        if self.place.stand_in:
            raise LeftOut(f"a rehearsal has no {what}")

    def run(self, name, command, share=1.0, may_be_cut=False, **environment):
        """Runs a command for at most `share` of the time left. The status may be anything; one that
        `may_be_cut` is left out, and not timed out, if it must be ended."""
        limit = self.left() * share
        if limit < LEAST:
            self.record(name, None, 0.0, LEFT_OUT, NO_TIME)
            return
        done = execute(command, self.place.environment(**environment), limit)
        self.lines += done.lines
        self.record(name, done.status, done.seconds, *outcome_of(done, may_be_cut))
        self.text += done.text + "\n"

    def record(self, name, status, seconds, outcome, reason):
        """`status`: None where it was not begun; `reason`: where it was left out."""
        self.text += f"--- {name}: {outcome}, status {status}\n"
        self.commands.append({"command": name, "status": status, "outcome": outcome,
                              "seconds": round(seconds, 2)})
        if outcome == LEFT_OUT:
            self.reasons.append(f"{name}: {reason}")

    def lists_tests(self, name, *chosen):
        """Whether one of Catch2's programs has such tests. program() reports a build without it."""
        path = self.place.program(name)
        if path is None:
            return True
        done = execute([path, "--list-tests", *chosen], self.place.environment(), self.left())
        return "\n0 matching test cases" not in done.text

    def program(self, name, *arguments, share=1.0, **environment):
        """Runs one of the build's programs. Its lines are there even if it must be ended."""
        path = self.place.program(name)
        if path is None:
            raise LeftOut(f"the build has no {name}")
        line_by_line = [LINES, "-oL"] if LINES else []
        self.run(" ".join([name, *arguments]), [*line_by_line, path, *arguments], share,
                 **environment)
