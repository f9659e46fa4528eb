"""Measures one section: one link, one number of ranks; all libraries stay resident in it.

The libraries take turns command by command, so that a machine whose speed drifts drifts for all.
In every round each library is asked once at every size. Which one begins changes with the round.
"""
import statistics
import sys
import time

import libraries
import plan
import summary
from job import Job, JobFailure

WEIGHTS = {"all_reduce": 2.0}  # of the time; the others 1
PROBE_LIMIT = 30   # seconds
MOST_RESTARTS = 3  # of one library in one section


class WrongResult(Exception):
    """The library's answer was not the right one."""


def parse_replies(replies):
    """{seconds, us, cpu_us}. A sample takes as long as its slowest rank. CPU is the sum of all ranks."""
    words = [reply.split() for reply in replies]
    wrong = sum(int(word[1]) for word in words)
    if wrong:
        raise WrongResult(f"{wrong} wrong elements")
    times = [[float(value) for value in word[3].split(",")] for word in words]
    processor = [[float(value) for value in word[4].split(",")] for word in words]
    return {"seconds": max(float(word[2]) for word in words),
            "us": [round(max(sample), 4) for sample in zip(*times)],
            "cpu_us": [round(sum(sample), 4) for sample in zip(*processor)]}


class Section:
    """A context manager: its jobs end with it."""

    def __init__(self, link, ranks, folder, cache):
        self.link, self.ranks, self.folder, self.cache = link, ranks, folder, cache
        self.missing = {}   # library: why it is not measured
        self.versions = {}
        self.idle = {}      # library: processor seconds its ranks used while not measuring
        self.foreign = 0.0  # processor seconds of other processes while measuring
        self.stolen = 0.0   # and of the host
        self.measuring = 0.0
        self._jobs = {}
        self._restarts = {}
        self._seed = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for library, job in self._jobs.items():
            job.close() if kind is None else job.kill()
            self._account(library, job)
        self._jobs.clear()

    def _account(self, library, job):
        self.idle[library] = self.idle.get(library, 0.0) + job.idle_seconds
        self.foreign += job.foreign_seconds
        self.stolen += job.stolen_seconds

    def oversubscribed(self):
        return self.ranks > libraries.cores()

    def variants(self, collective):
        """The variants that can be measured, in the order of the table."""
        return [variant for variant in libraries.variants(self.link, collective)
                if self.available(variant)]

    def available(self, variant):
        """Whether the variant can be measured; starts its job where that is still to do."""
        library = variant.library
        if library in self._jobs:
            return True
        if library not in self.missing:
            reason = libraries.why_missing(library, self.folder)
            if reason is None and self._restarts.get(library, 0) > MOST_RESTARTS:
                reason = f"failed {MOST_RESTARTS + 1} times"
            if reason is None:
                reason = self._start(library)
            if reason is None:
                return True
            self.missing[library] = reason
        return False

    def processes(self, library, ranks, socket, scratch):
        """[(command, environment to add)] that start a library's job."""
        return libraries.processes(library, self.link, ranks, self.folder, socket, scratch)

    def _start(self, library):
        """None, or why it does not start."""
        ranks = libraries.job_ranks(library, self.ranks)
        try:
            self._jobs[library] = job = Job(library, ranks, lambda socket, scratch: self.processes(
                library, ranks, socket, scratch))
        except (JobFailure, OSError) as failure:
            return str(failure)
        self.versions[library] = job.version
        return None

    def ask(self, variant, collective, size, effort, limit):
        """What one command measured. Raises JobFailure or WrongResult. A job that failed is gone, and
        the next command starts another."""
        if not self.available(variant):
            raise JobFailure(self.missing[variant.library])
        self._seed += 1
        name = "copy" if variant.library == "copy" else collective
        command = (f"measure {name} {size} {plan.pairs(size)} {effort.calls} {effort.samples} {self._seed} "
                   f"{variant.word} {self.cache} {int(limit) + 5}")
        job = self._jobs[variant.library]
        started = time.monotonic()
        try:
            return parse_replies(job.ask(command, limit))
        except JobFailure:
            del self._jobs[variant.library]
            self._account(variant.library, job)
            self._restarts[variant.library] = self._restarts.get(variant.library, 0) + 1
            raise
        finally:
            self.measuring += time.monotonic() - started


class Sweep:
    """One collective over all sizes within a section."""

    def __init__(self, section, collective, rounds, progress):
        self.section, self.collective, self.rounds = section, collective, rounds
        self.variants = section.variants(collective)
        self.rows = {}    # bytes: {variant name: {"us": [one a round], ...} or {"failure": text}}
        self.notes = []
        self._progress = progress

    def run(self, sizes, seconds, memory):
        deadline = time.monotonic() + seconds
        probes = self._probe_all(sizes, deadline, memory)
        if not probes:
            return
        by_cell = {cell: probe for cell, probe in probes.items() if self._worth(cell, probes)}
        efforts, left_out = plan.make_plan(by_cell, deadline - time.monotonic(), self.rounds,
                                           self.section.oversubscribed(), self._cold())
        for size in left_out:
            self._leave_out(size, "the time allowed does not suffice")
        self._rounds(efforts, by_cell, deadline)

    def _rounds(self, efforts, probes, deadline):
        """Probes are only samples: rounds that turn out to take longer become fewer."""
        for number in range(self.rounds):
            started = time.monotonic()
            self._progress(f"{self.collective}: round {number + 1} of {self.rounds}")
            self._round(number, efforts, probes)
            took = time.monotonic() - started
            if number + 1 < self.rounds and not plan.another_round(
                    number + 1, took, deadline - time.monotonic()):
                self.notes.append((0, f"{number + 1} of {self.rounds} rounds in the time allowed"))
                return

    def _cold(self):
        return self.section.cache == "cold"

    def _leave_out(self, size, why):
        self.rows.pop(size, None)
        self.notes.append((size, why))

    def _probe_all(self, sizes, deadline, memory):
        """{(bytes, variant): Probe}; what fails here is not asked again."""
        probes, last = {}, {}
        for size in sizes:
            remaining = deadline - time.monotonic()
            if not plan.fits_memory(size, self.section.ranks, memory):
                self._leave_out(size, "not enough memory")
            elif not plan.probe_fits(size, last, self.rounds, self.section.oversubscribed(),
                                     remaining):
                self._leave_out(size, "the time allowed does not suffice")
            else:
                calls = {variant: probe.call for (_, variant), probe in last.items()}
                last = {(size, variant): probe for variant in self.variants
                        if (probe := self._probe(size, variant, calls.get(variant)))}
                probes.update(last)
        return probes

    def _probe(self, size, variant, last_call):
        """None where it fails."""
        self._progress(f"{self.collective}: trying {variant.name} at {size} B")
        calls = plan.probe_calls(size, last_call, self._cold())
        reply = self._ask(size, variant, plan.Effort(calls, 1, 1), PROBE_LIMIT)
        if reply is None:
            return None
        self.rows[size][variant.name] = {"calls": 0, "samples": 0, "us": [], "cpu_us": []}
        return plan.probe_of(size, reply["seconds"], statistics.median(reply["us"]), calls)

    def _worth(self, cell, probes):
        """gloo leaves the choice of its algorithm to its user. An algorithm that is clearly slower
        than the other one is not measured."""
        size, variant = cell
        twins = [probe.call for (other_size, other), probe in probes.items()
                 if other_size == size and other.library == variant.library == "gloo"]
        if not twins or probes[cell].call <= 1.3 * min(twins):
            return True
        self.rows[size].pop(variant.name)
        return False

    def _round(self, number, efforts, probes):
        for size in sorted({size for size, _ in efforts}):
            variants = [variant for variant in self.variants if (size, variant) in efforts]
            first = number % len(variants)
            for variant in variants[first:] + variants[:first]:
                effort = efforts[size, variant]
                if "failure" in self.rows[size][variant.name] or number >= effort.rounds:
                    continue
                expected = plan.command_seconds(probes[size, variant], effort)
                reply = self._ask(size, variant, effort, 5 + 10 * expected)
                if reply is not None:
                    self._keep(self.rows[size][variant.name], effort, reply)

    def _keep(self, cell, effort, reply):
        """Keeps only the typical one of a round's samples. "calls" and "samples" are those of a round."""
        cell.update(calls=effort.calls, samples=effort.samples)
        for key in ("us", "cpu_us"):
            cell[key].append(summary.typical(reply[key], self.section.oversubscribed()))

    def _ask(self, size, variant, effort, limit):
        row = self.rows.setdefault(size, {})
        try:
            return self.section.ask(variant, self.collective, size, effort, limit)
        except (JobFailure, WrongResult) as failure:
            row[variant.name] = {"failure": str(failure)}
            return None


def as_section(sweep, section):
    """The part of one table that results keep."""
    return {"link": section.link, "ranks": section.ranks, "collective": sweep.collective,
            "cache": section.cache, "oversubscribed": section.oversubscribed(),
            "copy_ranks": libraries.job_ranks("copy", section.ranks),
            "missing": dict(section.missing), "notes": sorted(sweep.notes),
            "rows": [{"bytes": size, "variants": row} for size, row in sorted(sweep.rows.items())]}


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def interrupted(number, frame):
    raise KeyboardInterrupt
