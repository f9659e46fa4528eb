"""Hosts on one machine: network namespaces, each with cables to switches in a namespace of their own.

A testbed NAME is the namespaces NAME-switch and NAME-h0, NAME-h1, ... and nothing else; what is
there is read from the kernel each time. Interface K of host I is ethK inside the host, has the
address 10.77.K.(I+1)/24, and its cable ends at port hI-K of bridge bK. The namespace of the caller
gets no interface and no address, so that any number of testbeds can stand side by side.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

PROGRAMS = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "hostname": "hostname"}
LONGEST_NAME = 40
MOST_HOSTS = 200
MOST_INTERFACES = 8
CONGESTION_CONTROL = "reno"  # of hosts with limited links
CONTROL_FILE = "/proc/sys/net/ipv4/tcp_congestion_control"  # of the namespace that reads it
NAMES_FOLDER = pathlib.Path("/etc/netns")  # where `ip netns exec` finds a host's own /etc/hosts
SWITCH = "switch"


class Unable(Exception):
    """This machine cannot make testbeds at all: a reason to skip a test."""


class Failure(Exception):
    """A command went wrong, or was used wrongly."""


def execute(*words, text=None):
    done = subprocess.run(words, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def batch(program, namespace, lines):
    """Runs many commands of ip or tc in one namespace by one process: tests make many testbeds."""
    if lines:
        execute(program, "-n", namespace, "-batch", "-", text="\n".join(lines) + "\n")


def address(host, interface):
    return f"10.77.{interface}.{host + 1}"


def host_name(host, interface):
    """"h2", or "h2-1" for its address on network 1."""
    return f"h{host}-{interface}" if interface else f"h{host}"


# --- what this machine can do ---------------------------------------------------------------------


def require_ability(rate):
    """Raises Unable, in words, unless namespaces (and limited links, with a rate) can be made."""
    if os.geteuid() != 0:
        raise Unable("network namespaces need root")
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            raise Unable(f"the program {program} is missing (package {package})")
    try:
        execute("unshare", "--net", "--uts", "true")
        if rate:
            limit = " && ".join(f"tc {line}" for line in limits("lo", rate.split(",")[0]))
            execute("unshare", "--net", "sh", "-c", limit)
    except Failure as failure:
        raise Unable(f"this kernel or container does not allow it: {failure}") from None


# --- what is there --------------------------------------------------------------------------------


def namespaces():
    if shutil.which("ip") is None:
        return []
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line.strip()]


def hosts_of(name):
    """Numbers of the hosts of a testbed, in order; empty where there is none."""
    pattern = re.compile(re.escape(name) + r"-h(\d+)$")
    return sorted(int(match.group(1)) for match in map(pattern.match, namespaces()) if match)


def testbeds():
    return sorted(one.removesuffix("-" + SWITCH) for one in namespaces()
                  if one.endswith("-" + SWITCH))


def find_host(name, text):
    """Number of the host that "h2", "h2-1", "10.77.1.3" or "user@h2" means."""
    there = hosts_of(name)
    if not there:
        raise Failure(f"there is no testbed '{name}'; `testbed up` makes one, `testbed list` shows")
    word = text.split("@")[-1]
    for host in there:
        if word in names_of(host):
            return host
    raise Failure(f"testbed '{name}' has no host '{text}', only "
                  + ", ".join(f"h{host}" for host in there))


def names_of(host):
    numbers = range(MOST_INTERFACES)
    return [host_name(host, number) for number in numbers] + [address(host, number)
                                                              for number in numbers]


def ports_of(name, host):
    """The host's ends of cables at the switches, by number of the interface."""
    ports = execute("ip", "-n", f"{name}-{SWITCH}", "-o", "link", "show", "type", "veth")
    found = re.findall(rf"^\d+: (h{host}-\d+)[@:]", ports, re.M)
    return {int(port.split("-")[1]): port for port in sorted(found)}


def is_cut(name, port):
    shown = execute("ip", "-n", f"{name}-{SWITCH}", "-o", "link", "show", "dev", port)
    return ",UP" not in shown.split(">")[0]


def rate_of(name, port):
    shown = execute("tc", "-n", f"{name}-{SWITCH}", "class", "show", "dev", port)
    match = re.search(r"rate (\S+)", shown)
    return match.group(1) if match else "unlimited"


# --- making and unmaking --------------------------------------------------------------------------


# What a link may make up for when its timer comes late. With tc's default, a single packet, a link of
# 1 Gbit/s loses 3 % of its rate. A large burst hides what short messages cost: at 200 Mbit/s 32 KB are
# 1.3 ms of the link. A packet may have 64 KB. It passes whole, so such a message is there before its
# last byte could be; what comes behind it waits for it. Shorter packets made calls that send both ways
# twice as long here: each waits for a timer. One TCP stream carries 0.956 of the rate, 1448 of 1514
# bytes, as on a real link.
BURST = 64e-6  # seconds of the link
FRAME = 1514   # bytes of the longest Ethernet frame
RATE = re.compile(r"([0-9]+|[0-9]*\.[0-9]+)([kmg]?)bit", re.I)  # of tc's words
UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}


def burst_bytes(rate):
    """At least a frame. `rate`: "200mbit", as RATE has it."""
    number, unit = RATE.fullmatch(rate).groups()
    return max(FRAME, int(float(number) * UNITS[unit.lower()] / 8 * BURST))


def limits(interface, rate):
    """htb shapes what leaves an interface. The quantum matters only among classes, and there is one."""
    burst = burst_bytes(rate)
    return [f"qdisc add dev {interface} root handle 1: htb default 1",
            f"class add dev {interface} parent 1: classid 1:1 htb rate {rate} burst {burst} "
            f"cburst {burst} quantum 60000"]


def require_free(name):
    if name in testbeds() or hosts_of(name):
        raise Failure(f"testbed '{name}' is there already; take it down (testbed down --name "
                      f"{name}) or give another --name")


def make(name, hosts, interfaces, rate):
    """Makes a testbed, whose name must be free. On failure it takes down what was made. `rate`: of
    all cables, or one for each host, with commas."""
    try:
        make_switches(name, interfaces)
        for host in range(hosts):
            make_host(name, host, hosts, interfaces)
        lay_cables(name, hosts, interfaces)
        if rate:
            limit_cables(name, hosts, interfaces, rate)
    except BaseException:
        unmake(name)
        raise


def make_switches(name, interfaces):
    switch = f"{name}-{SWITCH}"
    execute("ip", "netns", "add", switch)
    bridges = [f"b{interface}" for interface in range(interfaces)]
    batch("ip", switch, [f"link add {bridge} type bridge" for bridge in bridges]
          + [f"link set {bridge} up" for bridge in bridges])


def make_host(name, host, hosts, interfaces):
    """Makes a host, which knows the others by name."""
    namespace = f"{name}-h{host}"
    execute("ip", "netns", "add", namespace)
    folder = NAMES_FOLDER / namespace
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    for interface in range(interfaces):
        lines += [f"{address(other, interface)} {host_name(other, interface)}"
                  for other in range(hosts)]
    (folder / "hosts").write_text("\n".join(lines) + "\n")


def lay_cables(name, hosts, interfaces):
    switch = f"{name}-{SWITCH}"
    cables = [(host, interface) for host in range(hosts) for interface in range(interfaces)]
    batch("ip", switch, [
        f"link add h{host}-{interface} type veth peer name eth{interface} netns {name}-h{host}"
        for host, interface in cables])
    batch("ip", switch, [f"link set h{host}-{interface} master b{interface} up"
                         for host, interface in cables])
    for host in range(hosts):
        lines = ["link set lo up"]
        for interface in range(interfaces):
            lines += [f"address add {address(host, interface)}/24 dev eth{interface}",
                      f"link set eth{interface} up"]
        batch("ip", f"{name}-h{host}", lines)


def by_host(rate, hosts):
    """The rate of each host's cables."""
    rates = rate.split(",")
    if len(rates) not in (1, hosts):
        raise Failure(f"{len(rates)} rates for {hosts} hosts: give one, or one for each")
    return rates * hosts if len(rates) == 1 else rates


def limit_cables(name, hosts, interfaces, rates):
    """Limits cables at both ends: what a host sends, and what all others send to it."""
    for host, rate in enumerate(by_host(rates, hosts)):
        own = [line for interface in range(interfaces) for line in limits(f"eth{interface}", rate)]
        ports = [line for interface in range(interfaces)
                 for line in limits(f"h{host}-{interface}", rate)]
        batch("tc", f"{name}-h{host}", own)
        batch("tc", f"{name}-{SWITCH}", ports)
    do_not_probe(name, hosts)
    keep_order(name, hosts)


def do_not_probe(name, hosts):
    """Chooses Reno. BBR, where the machine uses it, stops every ten seconds for a fifth of a second to
    find the shortest delay. That is its own price, not the link's. Every kernel has Reno. Where it
    must not be chosen, all stays as it is."""
    for host in range(hosts):
        execute("ip", "netns", "exec", f"{name}-h{host}", "sh", "-c",
                f"echo {CONGESTION_CONTROL} 2>&- >{CONTROL_FILE} || true")


# A packet that leaves a veth goes into the backlog of the processor that sent it. Either the program's
# processor or the timer's sends the packets of a limited link. So one overtakes another, and TCP sends
# again what was never lost (up to 450 segments in a run, while no queue dropped any). With receive
# packet steering each connection has one processor. So packets stay in order, as on a cable.
STEER = """
for queue in /sys/class/net/*/queues/rx-0; do
  [ -w "$queue/rps_cpus" ] && echo "$0" > "$queue/rps_cpus"
done
true
"""


def keep_order(name, hosts):
    """Keeps the packets of connections over limited cables in order, if the kernel has steering."""
    mask = processor_mask(os.sched_getaffinity(0))
    for namespace in [f"{name}-{SWITCH}", *(f"{name}-h{host}" for host in range(hosts))]:
        execute("ip", "netns", "exec", namespace, "sh", "-c", STEER, mask)


def processor_mask(processors):
    """A set of processors as the kernel writes it: 32 to a word, the highest first."""
    words = [0] * (max(processors) // 32 + 1)
    for processor in processors:
        words[-1 - processor // 32] |= 1 << processor % 32
    return ",".join(f"{word:x}" for word in words)


def unmake(name):
    """Ends the hosts' processes and removes everything. It is no error if nothing is there."""
    mine = [f"{name}-h{host}" for host in hosts_of(name)]
    if name in testbeds():
        mine.append(f"{name}-{SWITCH}")
    for namespace in mine:
        end_processes(namespace)
    for namespace in mine:
        # Another `down` of the same testbed may have been faster.
        subprocess.run(["ip", "netns", "delete", namespace], capture_output=True)
        shutil.rmtree(NAMES_FOLDER / namespace, ignore_errors=True)
    if [left for left in mine if left in namespaces()]:
        raise Failure(f"testbed '{name}' could not be removed")


def end_processes(namespace):
    """Ends all processes in a namespace, since it lives unseen as long as one of them does."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        listed = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True)
        inside = [int(word) for word in listed.stdout.split() if int(word) != os.getpid()]
        if not inside:
            return
        for process in inside:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


def set_cables(name, host, interface, state):
    """"down" pulls the cable out of the switch, "up" puts it in again."""
    ports = ports_of(name, host)
    if not ports:
        raise Failure(f"h{host} has no cable to a switch: testbed '{name}' was made with --cables")
    if interface is not None and interface not in ports:
        raise Failure(f"h{host} has no interface eth{interface}, only "
                      + ", ".join(f"eth{number}" for number in ports))
    chosen = ports.values() if interface is None else [ports[interface]]
    batch("ip", f"{name}-{SWITCH}", [f"link set {port} {state}" for port in chosen])
