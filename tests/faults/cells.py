"""The matrix: transports, faults, collectives, and what each pair of the first two must come to."""
from dataclasses import dataclass, field

import faults
import shortages

TIMEOUT = 8  # RONDO_TIMEOUT, seconds: ends the calls that wait for a silent rank


@dataclass(frozen=True)
class Transport:
    """Where the ranks run. `hosts`: how many ranks each host of the testbed has, the last one being for
    strangers; () for this machine. `ports`: networks. `victim`: the rank that the fault meets.
    `slowness`: how much longer everything may take."""
    name: str
    hosts: tuple
    work: tuple
    victim: int = 1
    ports: int = 1
    environment: dict = field(default_factory=dict)
    launcher: bool = False
    slowness: int = 1


@dataclass(frozen=True)
class Expected:
    """`outcome`: "error": each rank that lives and is not at fault is told who is, in `within` seconds;
    "launcher": rondorun says so, and ends the ranks before they know; "both"; "works": the job does not
    notice; "copes": that, or "error"; "gone": nothing of the job runs any more. `seconds`: how long the
    fault lasts before the job is asked to end, if it works."""
    outcome: str
    within: float = 30
    seconds: float = 0


@dataclass(frozen=True)
class Fault:
    """`victim_tells`: the rank at fault lives and learns of it, and must say so. `more`: what ranks do
    after the calls that the fault meets. `path`: it breaks a path, and both ends may be named. `kills`: a
    rank dies of it."""
    name: str
    text: str
    inject: callable
    prepare: callable = None
    victim_tells: bool = False
    needs: callable = None  # says why this build or machine cannot have it
    more: tuple = ("split=1000",)
    path: bool = False
    kills: bool = False


@dataclass(frozen=True)
class Cell:
    transport: Transport
    fault: Fault
    collective: str
    expected: Expected

    @property
    def name(self):
        return f"{self.transport.name}/{self.fault.name}/{self.collective}"


# What a rank does again and again, in the words of tests/job/rank_program.cc.
COLLECTIVES = {
    "all_reduce": "all_reduce,100000", "broadcast": "broadcast,100000",
    "all_to_all": "all_to_all,30000", "send_recv": "send_recv,50000", "all_to_all_v": "exchange,30000",
    "barrier": "barrier",
}
EVERY = tuple(COLLECTIVES)

TRANSPORTS = [
    Transport("shm", (), EVERY, environment={"RONDO_TRANSPORT": "shm"}),
    Transport("tcp", (1, 1, 1, 0), EVERY, environment={"RONDO_TRANSPORT": "tcp"}),
    # Data goes by another network than the control channel, whose other end is rank 0.
    Transport("control", (1, 1, 1, 0), ("all_reduce", "barrier"), victim=0, ports=2,
              environment={"RONDO_TRANSPORT": "tcp", "RONDO_SOCKET_IFNAME": "=eth1"}),
    Transport("launcher", (1, 1, 1, 0), ("all_reduce",), launcher=True),
    Transport("verbs", (), ("all_reduce",), slowness=6, environment={
        "RONDO_TRANSPORT": "verbs", "RONDO_IB_TIMEOUT": "17", "RONDO_IB_RETRY_CNT": "2"}),
]

FAULTS = [
    Fault("kill", "kill -9 of a rank", faults.kill, kills=True),
    Fault("stop", "SIGSTOP of a rank", faults.stop),
    Fault("cut", "the cable of a host is pulled", faults.cut, victim_tells=True),
    Fault("deaf", "nothing arrives at a host any more", faults.deaf, faults.lay_wire, True),
    Fault("mute", "nothing leaves a host any more", faults.mute, faults.lay_wire, True),
    Fault("vanish", "a host vanishes without a FIN", faults.vanish, kills=True),
    Fault("reboot", "a host vanishes, and is back without the job", faults.reboot, kills=True),
    Fault("garbage", "garbage on every listening port", faults.garbage),
    Fault("slow", "strangers who send a byte now and then", faults.slow),
    Fault("idle", "300 silent strangers on every port", faults.idle),
    Fault("corrupt", "a flipped bit on the wire", faults.corrupt, faults.checked_wire, True,
          faults.no_checksums, path=True),
    Fault("memory", "no more memory for a rank", shortages.no_memory, shortages.keep_heap, True),
    Fault("descriptors", "no more file descriptors for a rank", shortages.no_descriptors, None, True),
    Fault("disk", "a full disk under trace and log", shortages.full_disk, shortages.small_disk,
          needs=shortages.no_mounts, more=()),
    Fault("clock", "a rank's clock jumps an hour on, then a day back", shortages.clock_jumps,
          shortages.own_clock, needs=shortages.no_faketime),
    Fault("sleep", "a host sleeps for 3 s", faults.sleep),
    Fault("suspend", f"all ranks sleep for {TIMEOUT + 3} s, longer than the timeout", faults.suspend),
    Fault("kill_launcher", "kill -9 of rondorun", faults.kill_launcher, kills=True),
    Fault("kill_remote", "kill -9 of a host's rondorun", faults.kill_remote, kills=True),
    Fault("stop_launcher", "rondorun is stopped for 3 s", faults.stop_launcher),
    Fault("stop_remote", "a host's rondorun is stopped for 3 s", faults.stop_remote),
    Fault("lose_remote", "a host's rondorun is stopped for good, and a rank dies", faults.lose_remote,
          kills=True),
    Fault("port", "the port of the RDMA device goes down", faults.port_down, faults.two_devices,
          True, path=True),
]

TOLD_TWICE = Expected("both", 5)
DIES, SILENT = Expected("error", 5), Expected("error", 30)
PATH = Expected("error", 35)  # found by the kernel's probes: 25 to 30 s, see transports/README.md
WORKS, COPES, GONE = Expected("works"), Expected("copes"), Expected("gone", 5)
VISITED = Expected("works", seconds=7)  # longer than the 5 s that a stranger may stay
NO_CABLE = "memory has no cable"
NOT_A_LAUNCHER = "there is no launcher: ranks are started one by one"
OF_A_RANK = "meets a rank, not a connection: see tcp"
AS_TCP = "the ranks' own ports are those of tcp; rondorun speaks through ssh"
NOT_VERBS = "needs no device: see tcp"
NO_DEVICE = "no RDMA device"

LAUNCHERS = ("kill_launcher", "kill_remote", "stop_launcher", "stop_remote", "lose_remote")


def each(names, value):
    return {name: value for name in names.split()}


# What comes of each pair, or why there is no such pair.
PAIRS = {
    "shm": {"kill": DIES, "stop": SILENT, **each("garbage slow idle", VISITED),
            **each("memory descriptors", COPES), **each("disk clock sleep suspend", WORKS),
            **each("cut deaf mute vanish reboot corrupt", NO_CABLE), "port": NO_DEVICE},
    "tcp": {"kill": DIES, **each("stop cut deaf mute vanish reboot", SILENT),
            **each("garbage slow idle", VISITED), "corrupt": COPES, **each("memory descriptors", COPES),
            **each("disk clock sleep suspend", WORKS), "port": NO_DEVICE},
    "control": {"kill": DIES, "stop": SILENT, **each("cut deaf mute", PATH),
                **each("vanish reboot", SILENT), **each("garbage slow idle", VISITED), "corrupt": COPES,
                **each("memory descriptors disk clock", OF_A_RANK), **each("sleep suspend", WORKS),
                "port": NO_DEVICE},
    "launcher": {"kill": TOLD_TWICE, **each("stop cut", SILENT), "vanish": Expected("launcher"),
                 "kill_launcher": GONE, "kill_remote": TOLD_TWICE,
                 **each("stop_launcher stop_remote sleep", WORKS), "lose_remote": Expected("both"),
                 **each("deaf mute reboot garbage slow idle corrupt", AS_TCP),
                 **each("memory descriptors disk clock suspend", OF_A_RANK), "port": NO_DEVICE},
    "verbs": {"kill": DIES, "stop": SILENT, "port": SILENT,
              **each("cut deaf mute", "tests/verbs pulls and mutes its cables"),
              "corrupt": "a device checks what it receives",
              **each("vanish reboot garbage slow idle memory descriptors disk clock sleep suspend",
                     NOT_VERBS)},
}
for name in PAIRS:
    if name != "launcher":
        PAIRS[name].update({launcher: NOT_A_LAUNCHER for launcher in LAUNCHERS})

# Of the long form, what a minute can hold: each fault once, where it is most likely to break.
SHORT = [
    "shm/kill/all_reduce", "shm/stop/barrier", "shm/garbage/all_to_all_v", "shm/descriptors/all_reduce",
    "shm/clock/broadcast", "tcp/kill/broadcast", "tcp/cut/all_to_all", "tcp/mute/send_recv",
    "tcp/reboot/all_reduce", "tcp/idle/all_reduce", "tcp/corrupt/all_reduce", "tcp/memory/all_to_all_v",
    "tcp/disk/all_reduce", "tcp/sleep/barrier", "control/vanish/all_reduce", "control/slow/barrier",
    "launcher/kill_launcher/all_reduce", "launcher/kill_remote/all_reduce",
]


def cells():
    """Every pair that exists, with each collective of its transport."""
    return [Cell(transport, fault, collective, PAIRS[transport.name][fault.name])
            for transport in TRANSPORTS for fault in FAULTS for collective in transport.work
            if isinstance(PAIRS[transport.name][fault.name], Expected)]


def reasons():
    """[(transport, fault, why there is no such cell)]"""
    return [(transport.name, fault.name, PAIRS[transport.name][fault.name])
            for transport in TRANSPORTS for fault in FAULTS
            if isinstance(PAIRS[transport.name][fault.name], str)]
