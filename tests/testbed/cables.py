"""Hosts without a switch: cables between some of them, and the others pass packets on.

Host I has the address 10.77.0.(I+1) on eth0, which is no cable and leads nowhere. Cable cJ leads to
host J. Packets take the fewest cables. Of several such ways a host takes one for each other host, which
need not be the one that the simulator takes.
"""
import network
from network import Failure


def make(name, hosts, cables, rate):
    """Makes a testbed, whose name must be free. On failure it takes down what was made. `rate`: of
    every cable, each way, or None."""
    ways = ways_of(hosts, cables)
    if rate and "," in rate:
        raise Failure("--cables takes one rate, which all of them have")
    try:
        network.make_switches(name, 0)
        for host in range(hosts):
            network.make_host(name, host, hosts, 1)
            network.batch("ip", f"{name}-h{host}", [
                "link set lo up", "link add eth0 type veth peer name nowhere",
                "link set eth0 up", "link set nowhere up",
                f"address add {network.address(host, 0)}/32 dev eth0"])
            network.execute("ip", "netns", "exec", f"{name}-h{host}", "sh", "-c",
                            "echo 1 >/proc/sys/net/ipv4/ip_forward")
        for one, other in cables:
            lay(name, one, other, rate)
        for host in range(hosts):
            network.batch("ip", f"{name}-h{host}", routes(host, ways[host]))
        if rate:
            network.do_not_probe(name, hosts)
            network.keep_order(name, hosts)
    except BaseException:
        network.unmake(name)
        raise


def lay(name, one, other, rate):
    network.execute("ip", "-n", f"{name}-h{one}", "link", "add", f"c{other}", "type", "veth", "peer",
                    "name", f"c{one}", "netns", f"{name}-h{other}")
    for host, peer in ((one, other), (other, one)):
        network.execute("ip", "-n", f"{name}-h{host}", "link", "set", f"c{peer}", "up")
        if rate:
            network.batch("tc", f"{name}-h{host}", network.limits(f"c{peer}", rate))


def routes(host, first_hops):
    return [f"route add {network.address(other, 0)}/32 via {network.address(hop, 0)} dev c{hop} onlink "
            f"src {network.address(host, 0)}" for other, hop in sorted(first_hops.items())]


def ways_of(hosts, cables):
    """By host, then by other host: the neighbour to send to."""
    neighbours = {host: [] for host in range(hosts)}
    for one, other in cables:
        if one == other or max(one, other) >= hosts or other in neighbours[one]:
            raise Failure(f"--cables: {one}-{other} joins no two of the {hosts} hosts, or again")
        neighbours[one].append(other)
        neighbours[other].append(one)
    ways = {host: {} for host in range(hosts)}
    for source in range(hosts):
        before = {source: source}
        queue = [source]
        for host in queue:
            for other in neighbours[host]:
                if other not in before:
                    before[other] = host
                    queue.append(other)
        if len(before) < hosts:
            raise Failure(f"--cables: no way leads from h{source} to all others")
        for target in range(source + 1, hosts):
            path = [target]
            while path[-1] != source:
                path.append(before[path[-1]])
            for here, there in zip(path[1:], path):
                ways[here].setdefault(target, there)
            for here, there in zip(path, path[1:]):
                ways[here].setdefault(source, there)
    return ways
