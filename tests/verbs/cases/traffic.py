"""Data over the devices, every element checked, in the ways that they can be set up."""
import os
import pathlib
import re

import place
from running import require

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "tools/examples/schedules"

# What the ranks of a job do to cover much in little time (see tests/job/rank_program.cc).
EVERYTHING = ("join", "describe=1000", "every_collective=0", "every_collective=1000",
              "every_collective=50000", "every_operator=100", "overlap=1000", "split=1000",
              "finalize")
# Where it matters how messages are carried, not what is in them.
LARGE = ("join", "describe=50000", "every_collective=50000", "finalize")
SWEEP = ("-b", "8", "-e", "512K", "-f", "16", "-n", "2", "-w", "1")

ON_TWO_DEVICES = ("0,1:set=RONDO_IB_HCA==rxe1", "2,3:set=RONDO_IB_HCA==rxe2")


def transports_in(text):
    """The transports that ranks say they use. (Their warnings name the machine, which may be called
    like one.)"""
    return {name for path in re.findall(r"rank \d+ uses \S+ over (\S+) ", text)
            for name in path.split("+")}


def require_over(jobs, text):
    require(transports_in(text) == {jobs.transport}, f"the ranks do not use {jobs.transport} alone",
            text)


def one_device(jobs):
    before = place.packets_sent("rxe0")
    require_over(jobs, jobs.ranks(4, *EVERYTHING, RONDO_IB_HCA="=rxe0"))
    require(place.packets_sent("rxe0") > before + 100, "rxe0 has sent nothing")


def across_the_cable(jobs, script=EVERYTHING):
    before = place.bytes_on_cable()
    require_over(jobs, jobs.ranks(4, *ON_TWO_DEVICES, *script))
    require(place.bytes_on_cable() > before + 1_000_000, "nothing has crossed the cable")


def threads_as_ranks(jobs):
    jobs.measured(1, "all_reduce_perf", "-t", "3", *SWEEP, RONDO_IB_HCA="=rxe0")


def bench_programs(jobs):
    """Two programs stand for all: the others differ in the collective, which other cases check."""
    for name in ("all_reduce", "sendrecv"):
        jobs.measured(3, f"{name}_perf", "-b", "8", "-e", "512K", "-f", "256", "-n", "1", "-w", "1")


def written_schedule(jobs):
    """Three ranks, of which it folds one in."""
    text = jobs.measured(3, "all_reduce_perf", "-b", "8", "-e", "32K", "-f", "64", "-n", "1", "-w", "1",
                         "--schedule", EXAMPLES / "halving_doubling.schedule")
    require("halving_doubling" in text, "the schedule is not named", text)


def two_sockets(jobs):
    """The kernel says which processors share a socket, and ranks are bound to two of them by turns."""
    processors = place.processors_of_sockets()
    if os.cpu_count() % 2:
        print("NOT RUN: an odd number of processors makes one socket", flush=True)
        return
    require(len(processors) == 2, f"the guest has {len(processors)} sockets")
    program = jobs.program("job_rank_program")
    script = "join every_collective=0 every_collective=1000 every_collective=50000 finalize"
    command = f"set -- {' '.join(processors)}; shift $((RANK % 2)); exec taskset -c $1 {program} {script}"
    text = jobs.start(5, "sh", "-c", command,
                      RONDO_ALGORITHM="hierarchical(one_shot,chain,ring)",
                      RONDO_DEBUG="INFO").require_success()
    require("ranks of this host on 2 sockets" in text, "the ranks do not know of the sockets", text)


def windows(jobs):
    """one_sided_perf compares every byte itself."""
    jobs.start(3, jobs.program("one_sided_perf"), "-b", "8", "-e", "512K", "-f", "256", "-n", "1", "--memory",
               "ordinary").require_success()


def odd_sizes(jobs):
    """Sizes around that of slots, with elements that are not aligned."""
    jobs.measured(2, "sendrecv_perf", "-b", "65530", "-e", "65540", "-i", "1", "-d", "uint8", "-n",
                  "1", "-w", "0", "-u", "3", RONDO_IB_HCA="=rxe0")


def small_slots(jobs):
    jobs.ranks(4, "join", "every_collective=20000", "overlap=1000", "finalize",
               RONDO_SLOT_BYTES="4096", RONDO_IB_HCA="=rxe0")


def algorithms_of(listing):
    """{collective: [algorithm]} from `rondo list`."""
    algorithms, collective = {}, None
    for line in listing.split("COMPOSITIONS")[0].splitlines()[1:]:
        if name := re.fullmatch(r"  (\w+)", line):
            collective = algorithms.setdefault(name[1], [])
        elif name := re.match(r"    (\w+) +\w", line):
            collective.append(name[1])
    return algorithms


def every_algorithm(jobs):
    """A job of 3 ranks and one of 4, which join anew for each set of forced algorithms. The jobs share
    the sets: an emulated processor takes minutes for all, and executor_test has other numbers of
    ranks. Small slots make several slices of little data."""
    algorithms = algorithms_of(place.output_of(jobs.program("rondo"), "list"))
    require(len(algorithms) >= 10 and len(algorithms["all_reduce"]) >= 9,
            "cannot read the output of rondo list", str(algorithms))
    scripts = {3: [], 4: []}
    for turn in range(max(map(len, algorithms.values()))):
        forced = ";".join(f"{collective}:{names[turn % len(names)]}"
                          for collective, names in algorithms.items())
        scripts[3 + turn % 2] += [f"set=RONDO_ALGORITHM={forced}", f"set=RONDO_PORT={29500 + turn}",
                                  f"0:say={forced}", "join", "every_collective=10000", "finalize"]
    for ranks, script in scripts.items():
        jobs.ranks(ranks, *script, RONDO_SLOT_BYTES="16384")


def some_queue_pairs(jobs):
    """RONDO_IB_QPS_PER_CONNECTION=2 makes twice as many queue pairs as 1. They are counted while the
    ranks wait."""
    counts = {}
    for number in ("1", "2"):
        job = jobs.start(2, jobs.program("job_rank_program"), "join", "call=all_reduce,100000",
                         "every_collective=50000", "say=stands", "wait", RONDO_IB_HCA="=rxe0",
                         RONDO_IB_QPS_PER_CONNECTION=number)
        job.wait_for("stands ", 2)
        counts[number] = place.queue_pairs_of("rxe0")
        job.kill()
    require(counts["2"] == 2 * counts["1"] > 0, f"queue pairs by setting: {counts}")


ACCOUNT = re.compile(r": (\d+) sends \((\d+) from user memory, (\d+) with a completion, "
                     r"(\d+) only for a completion\), "
                     r"(\d+) registrations of user memory, "
                     r"(\d+) bytes of host memory registered at the end")
GENERATIONS = 2
BUFFERS = 2  # of a generation


def accounts(jobs, rounds):
    """What each rank says of its sends after so many rounds in each generation of buffers. Calls go
    round rings, where every rank sends as much as the others."""
    ranks = 3
    job = jobs.start(ranks, jobs.program("verbs_windows_program"), str(GENERATIONS), str(rounds),
                     "50000", RONDO_IB_HCA="=rxe0", RONDO_DEBUG="INFO",
                     RONDO_ALGORITHM="all_reduce:ring;all_gather:ring")
    text = job.require_success()
    found = [tuple(map(int, match)) for match in ACCOUNT.findall(text)]
    require(len(found) == ranks, "not every rank gives an account of its sends", text)
    return found, text


def from_place(jobs):
    """Buffers that are freed and made anew, at the same addresses, are right in every element. More
    rounds in the same buffers cost no further registration, and one completion in 16 sends, as
    promised. Completions that are asked for because a peer comes late are counted apart. Their number
    depends on how long the machine lets a peer wait for its turn, so it is not checked."""
    few, _ = accounts(jobs, 4)
    many, text = accounts(jobs, 8)
    for rank, (before, after) in enumerate(zip(few, many)):
        sends, placed, signalled, extra, registrations, _ = after
        require(placed > before[1] > 0, f"rank {rank} has not sent from place", text)
        require(0 < registrations == before[4] <= GENERATIONS * BUFFERS,
                f"rank {rank}: {before[4]} registrations in 4 rounds, {registrations} in 8", text)
        require(signalled - extra <= sends / 16,
                f"rank {rank}: {signalled - extra} completions of {sends} sends", text)


def both_rails(jobs):
    """With two devices at once both carry data."""
    before = {name: place.packets_sent(name) for name in ("rxe1", "rxe2")}
    for extra in ({}, {"RONDO_IB_QPS_PER_CONNECTION": "2"}):
        jobs.ranks(4, "join", "every_collective=30000", "finalize", RONDO_IB_HCA="rxe1,rxe2",
                   **extra)
    sent = {name: place.packets_sent(name) - count for name, count in before.items()}
    require(min(sent.values()) > 100, f"packets sent by device: {sent}")


def small_packets(jobs):
    """An active MTU of 1024 instead of 4096."""
    require(place.active_mtus() == ["4096"] * 3, "the active MTU is not 4096 before")
    place.make_devices(1500)
    try:
        require(place.active_mtus() == ["1024"] * 3, "the active MTU did not become 1024")
        across_the_cable(jobs, LARGE)
    finally:
        place.make_devices()


def two_hosts(jobs):
    """Ranks take each other for two machines, and no transport is forced. They use shared memory inside
    and devices between them."""
    text = jobs.ranks(4, "0,1:set=RONDO_HOSTID=first", "2,3:set=RONDO_HOSTID=second",
                      *ON_TWO_DEVICES, *LARGE, RONDO_TRANSPORT="local,shm,verbs,tcp")
    require(transports_in(text) == {"shm", "verbs"}, "not over shared memory and devices", text)


def one_host_without_devices(jobs):
    """If one host has no devices, all ranks use tcp."""
    text = jobs.ranks(4, "0,1:set=RONDO_HOSTID=first", "2,3:set=RONDO_HOSTID=second",
                      "0,1:set=RONDO_IB_DISABLE=1", *LARGE, RONDO_TRANSPORT="local,shm,verbs,tcp")
    require(transports_in(text) == {"shm", "tcp"}, "not over shared memory and tcp", text)


def contract(jobs):
    done = jobs.run("transports_test", "[transports]~tcp:*,[verbs]", "--durations", "yes",
                    "--min-duration", "1", TESTED_TRANSPORTS=jobs.transport)
    require("All tests passed" in done, "transports_test says nothing", done)


def listing(jobs):
    """rondo rdma shows all three devices, with the address that is used."""
    text = jobs.run("rondo", "rdma")
    for device, address in (("rxe0", "10.77.0.1"), ("rxe1", "10.77.1.1"), ("rxe2", "10.77.1.2")):
        require(re.search(rf"^{device} +1 +active +Ethernet +\S+ +4096 .* yes$", text,
                          re.MULTILINE), f"{device} is not listed as used", text)
        require(re.search(rf"^ +\* GID 1 +RoCE v2 +{re.escape(address)} ", text, re.MULTILINE),
                f"{address} is not the GID in use", text)
