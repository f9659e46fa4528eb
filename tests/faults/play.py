"""Plays a cell: starts its job, has the fault meet it in flight, and records who told what, and when."""
import re

from jobs import FAILURE
from running import CLOCK, wait_until
from scene import ROOT, Scene

HANG = 60      # seconds after the fault, or after its healing, until what still runs is ended by force
LEAVE = 5      # seconds until nothing may be left of a job that has ended
WRONG = re.compile(r"rank (\d+) is WRONG: (.*)")
DONE = re.compile(r"done (\d+)$")


def settled(scene, begin, expected):
    """Whether the fault has done what it does: ranks have told it, or work on as if nothing were."""
    if scene.transport.launcher:
        ended = scene.commands[0].has_ended()
    else:
        ended = all(command.has_ended() for rank, command in enumerate(scene.commands)
                    if rank not in scene.at_fault() or scene.cell.fault.victim_tells)
    if ended:
        return True
    waits = expected.outcome not in ("works", "copes") or CLOCK.now() < begin + expected.seconds
    return not waits and scene.calls_since(begin + expected.seconds)


def name_of(scene, number):
    return "rondorun" if scene.transport.launcher else f"rank {number}"


def ended_alone(scene, seconds):
    """The commands that did not; they are ended by force."""
    wait_until(lambda: all(command.has_ended() for command in scene.commands), seconds)
    held = [name_of(scene, number) for number, command in enumerate(scene.commands)
            if not command.has_ended()]
    if held:
        for command in scene.commands:
            command.kill()
    return held


def seconds_until_gone(scene, begin):
    """Until no process of the job is there any more."""
    wait_until(lambda: not any(command.left() for command in scene.commands), HANG)
    return CLOCK.now() - begin


def what_is_left(scene):
    """Words, once a job that has ended had time to leave."""
    left = []

    def nothing_left():
        left[:] = scene.left()
        return not left

    wait_until(nothing_left, LEAVE)
    return left


def parsed(scene, begin):
    """What the lines of the job say."""
    told, done, wrong = [], [], []
    for when, line in scene.lines():
        if found := FAILURE.match(line):
            told.append({"rank": int(found[1]), "kind": found[2], "peer": int(found[3]), "text": found[5],
                         "seconds": round(when - begin, 2)})
        elif found := WRONG.match(line):
            wrong.append({"rank": int(found[1]), "text": found[2]})
        elif found := DONE.match(line):
            done.append(int(found[1]))
    return {"told": told, "done": done, "wrong": wrong}


def launcher(scene):
    if not scene.transport.launcher:
        return None
    lines = [line.rstrip().replace(f"{ROOT}/", "") for _, line in scene.lines()]
    return {"status": scene.commands[0].status(1),
            "lines": [line for line in lines if line.startswith("rondorun")]}


def play(cell, work, programs, number, timeout):
    """The record of verdict.py, and the log of the job."""
    expected, slow = cell.expected, cell.transport.slowness
    with Scene(cell, programs, number, timeout * min(slow, 3)) as scene:
        if cell.fault.prepare:
            cell.fault.prepare(scene)
        scene.start(work, cell.fault.more)
        scene.wait_in_flight()
        begin = CLOCK.now()
        heal = cell.fault.inject(scene)
        if expected.outcome == "gone":
            gone = seconds_until_gone(scene, begin)
        else:
            wait_until(lambda: settled(scene, begin, expected), HANG * slow)
            gone = 0
        heal()
        scene.end.touch()
        record = {"outcome": expected.outcome, "within": expected.within * slow, "ranks": scene.ranks,
                  "victim": scene.victim, "host": scene.at_fault(), "path": cell.fault.path,
                  "kills": cell.fault.kills,
                  "victim_tells": cell.fault.victim_tells,
                  "held": ended_alone(scene, HANG * slow), "gone": round(gone, 2)}
        record |= {"left": what_is_left(scene), "launcher": launcher(scene), **parsed(scene, begin)}
        return record, "\n".join(command.log for command in scene.commands)
