#!/usr/bin/env python3
"""Hosts with several networks, several connections between two hosts, and IPv6 addresses, global ones and
link-local ones. The rank program checks results element by element."""
import pathlib
import tempfile

from support import Hosts, address_of, main

from jobs import BUILT, JobTest, each, finish

EVERYTHING = ["join", "every_collective=1000", "every_collective=300000", "say=done"]


class HostsTest(JobTest):
    def check_done(self, hosts, *options, **more):
        """Every rank does everything, and has nothing to say."""
        result = hosts.result(EVERYTHING, *options, **more)
        self.check_clean(result)
        self.assertEqual(result.output.count("done "), hosts.ranks)

    def count_in_job(self, hosts, first, last, count, *options, **environment):
        """What count() finds once all ranks have made the first calls."""
        with tempfile.TemporaryDirectory() as name:
            counted = pathlib.Path(name) / "counted"
            script = [*(word.replace("FOLDER", name) for word in first), "say=exchanged",
                      f"wait_for_file={counted}", last]
            with hosts.job(script, *options, **environment) as job:
                job.wait_for("exchanged ", hosts.ranks)
                found = count()
                counted.touch()
                self.check_clean(job.result())
                return found


class Networks(HostsTest):
    @each("=eth1", "eth1", "^eth0", "ib,eth1")
    def test_data_takes_the_network_that_socket_ifname_chooses_the_other_one_is_dead(self, pattern):
        with Hosts(1, 1, 1, interfaces=2) as hosts:
            for host in range(3):
                hosts.cut(host, 0)
            self.check_done(hosts, "--timeout", 10, interface=1, RONDO_SOCKET_IFNAME=pattern)

    def test_a_dead_network_is_not_chosen_where_there_is_another(self):
        with Hosts(1, 1, 1, interfaces=2) as hosts:
            for host in range(3):
                hosts.cut(host, 0)
            result = hosts.result(EVERYTHING, "--timeout", 10, interface=1)
            self.assertEqual((result.status, result.output.count("done ")), (0, 3), result)

    @each(2, 1)
    def test_a_job_on_several_hosts_runs_the_schedule_that_was_found_for_them(self, ranks):
        with Hosts(ranks, ranks) as hosts, tempfile.TemporaryDirectory() as folder:
            found = f"{folder}/found.schedule"
            search = finish(BUILT / "rondo", "synthesize", "all_reduce", "--hosts", "2x2", "-b", "1M", "-o",
                            found)
            self.assertEqual(search.status, 0, search)
            result = hosts.result(EVERYTHING, RONDO_SCHEDULES=found, RONDO_ALGORITHM="all_reduce:synthesized")
            fits = ranks == 2
            done = result.output.count("done ")
            self.assertEqual((result.status == 0, done), (fits, 4 if fits else 0), result)
            self.assertEqual("is for 4 ranks, not 2" in result.output + result.error, not fits)

    def test_each_host_may_choose_another_network_where_there_are_routes_between_them(self):
        with Hosts(1, 1, 1, interfaces=2) as hosts:
            result = hosts.result(["0:set=RONDO_SOCKET_IFNAME==eth0", "^0:set=RONDO_SOCKET_IFNAME==eth1",
                                   *EVERYTHING])
            self.assertEqual((result.status, result.output.count("done ")), (0, 3), result)

    @each((4, "1"), (1, "2"))
    def test_the_ranks_of_a_host_and_the_sockets_of_a_rank_take_turns_on_all_interfaces(self, case):
        ranks, sockets = case
        with Hosts(ranks, ranks, interfaces=2) as hosts:
            # An all_reduce of 4 MB between two hosts sends 4 MB from each.
            sent = self.count_in_job(
                hosts, ["join", "call=all_reduce,1000000"], "every_collective=1000",
                lambda: [hosts.sent(host, interface) for host in (0, 1) for interface in (0, 1)],
                RONDO_SOCKET_IFNAME="eth", RONDO_SOCKETS=sockets)
            self.assertTrue(all(1_900_000 < each_one < 2_500_000 for each_one in sent), sent)

    def test_where_hosts_have_unlike_interfaces_those_networks_carry_that_both_are_in(self):
        with Hosts(1, 1, interfaces=2) as hosts:
            self.check_clean(hosts.result(["0:set=RONDO_SOCKET_IFNAME=eth",
                                           "^0:set=RONDO_SOCKET_IFNAME==eth0", *EVERYTHING]))
            self.assertLess(hosts.sent(0, 1), 100_000)

    @each("=eth", "wlan")
    def test_an_interface_that_no_host_has_is_an_error_on_each_that_lists_what_it_has(self, pattern):
        with Hosts(1, 1, interfaces=2) as hosts:
            result = hosts.result(["join"], "--grace", 10, RONDO_SOCKET_IFNAME=pattern)
            self.assertEqual(result.status, 3)
            for rank, failure in self.check_failures(result, 2, [f"RONDO_SOCKET_IFNAME={pattern}"],
                                                     code="configuration").items():
                for port in (0, 1):
                    self.assertIn(f"eth{port} ({address_of(rank, port)})", failure.text)

    @each("ring", "circulant", "two_shot")
    def test_between_hosts_passes_go_side_by_side_and_the_results_are_the_same(self, algorithm):
        with Hosts(1, 1, 1, 1) as hosts:
            self.check_done(hosts, "--timeout", 60, RONDO_ALGORITHM=algorithm)

    def test_a_connection_that_does_not_come_about_in_time_is_named_with_the_way_out(self):
        with Hosts(1, 1, interfaces=2) as hosts:
            hosts.cut(1, 0)
            result = hosts.result(["join", "call=all_reduce,1000"], "--timeout", 20, "--grace", 10,
                                  interface=1, RONDO_SOCKET_IFNAME="=eth0")
            self.assertEqual(result.status, 3)
            for rank, failure in self.check_failures(result, 2, [" within 10000 ms: ", "RONDO_SOCKET_IFNAME"],
                                                     code="timeout").items():
                self.assertEqual(failure.peer, 1 - rank)
                # Each host found out by itself, or has heard it from the other.
                unreachable = rank if " reports: " in failure.text else 1 - rank
                self.assertIn(f"cannot connect to rank {unreachable} at {address_of(unreachable)} port ",
                              failure.text)

    def test_rondoruns_own_host_does_not_lend_its_name_to_the_hosts_it_starts_ranks_on(self):
        with Hosts(1, 1, 1) as hosts:
            result = hosts.result(EVERYTHING, at=0, NCCL_HOSTID="h0")
            self.assertEqual((result.status, result.output.count("done ")), (0, 3), result)

    def test_sockets_4_makes_four_connections_of_each_the_data_stays_in_order(self):
        def data_connections(sockets):
            with Hosts(1, 1) as hosts:
                found = self.count_in_job(
                    hosts, ["join", "call=all_reduce,1000000", "call=all_reduce,3"],
                    "every_collective=100000", lambda: hosts.connections(1), RONDO_SOCKETS=sockets)
                return found - 1  # rank 1's line to rank 0's control

        one = data_connections("1")
        self.assertGreater(one, 0)
        self.assertEqual(data_connections("4"), 4 * one)


class Families(HostsTest):
    def setUp(self):
        if not pathlib.Path("/proc/net/if_inet6").exists():
            self.skipTest("this machine has no IPv6")

    def set_up(self, hosts, host, interface="eth0", address=""):
        """Renames the host's interface and leaves it no IPv6 address but this one. The kernel's own addresses
        cannot be used before it has asked the link for duplicates."""
        commands = ["link set eth0 down", f"link set eth0 name {interface}",
                    f"link set {interface} addrgenmode none", f"link set {interface} up"]
        commands += [f"-6 address add {address}/64 dev {interface} nodad"] if address else []
        for command in commands:
            hosts.output(host, "ip", *command.split())

    @each(("fd77::", "eth0"), ("fe80::", "eth0"), ("fe80::", "fabric0"))
    def test_af_inet6_the_meeting_and_all_data_go_over_ipv6(self, case):
        network, interface = case
        with Hosts(1, 1) as hosts:
            self.set_up(hosts, 0, "eth0", f"{network}1")
            self.set_up(hosts, 1, interface, f"{network}2")
            ipv4, ipv6 = self.count_in_job(
                hosts, ["join_by_id=0,FOLDER/id", "call=all_reduce,100000"], "every_collective=1000",
                lambda: [hosts.connections(1, table) for table in ("tcp", "tcp6")], "--timeout", 20,
                RONDO_SOCKET_FAMILY="AF_INET6")
            self.assertEqual(ipv4, 0)
            self.assertGreater(ipv6, 1)  # more than the line to rank 0's control

    @each("RONDO_SOCKET_", "NCCL_SOCKET_")
    def test_an_interface_without_an_address_of_the_family_is_an_error_that_names_both(self, name):
        with Hosts(1, 1) as hosts:
            for host in (0, 1):
                self.set_up(hosts, host)
            result = hosts.result(["join"], "--grace", 10,
                                  **{f"{name}FAMILY": "AF_INET6", f"{name}IFNAME": "=eth0"})
            self.assertEqual(result.status, 3)
            for rank, failure in self.check_failures(result, 2, [f"Try: unset {name}FAMILY"],
                                                     code="configuration").items():
                self.assertIn(f"{name}FAMILY=AF_INET6 asks for IPv6, and no interface that fits "
                              f"{name}IFNAME==eth0 has such an address: eth0 ({address_of(rank)})",
                              failure.text)


if __name__ == "__main__":
    main()
