#!/usr/bin/env python3
"""The script `testbed` itself: names and cables, testbeds side by side, nothing left behind."""
import os
import pathlib
import subprocess
import sys
import time
import unittest

import network
import support
from jobs import SKIPPED

TESTBED = pathlib.Path(__file__).resolve().with_name("testbed")
PREFIX = f"script-{os.getpid()}"


def testbed(command, *words, name=PREFIX):
    return subprocess.run([TESTBED, command, "--name", name, *words], capture_output=True,
                          text=True, timeout=60)


def namespaces_of(name):
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    return [line for line in listed.splitlines() if line.startswith(name + "-")]


class Scripts(unittest.TestCase):
    def up(self, *words, name=PREFIX):
        done = testbed("up", *words, "--owner", str(os.getpid()), name=name)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.addCleanup(testbed, "down", name=name)

    def output(self, command, *words, name=PREFIX):
        done = testbed(command, *words, name=name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refusal(self, command, *words, name=PREFIX):
        done = testbed(command, *words, name=name)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_hosts_have_names_identities_and_addresses(self):
        self.up("--hosts", "2", "--interfaces", "2")
        self.assertEqual(self.output("run", "h1", "hostname"), "h1\n")
        self.assertEqual(self.output("run", "h1", "printenv", "RONDO_HOSTID"), f"{PREFIX}-h1\n")
        self.assertIn("10.77.1.1 ", self.output("run", "h1", "getent", "hosts", "h0-1"))
        self.assertIn("10.77.1.2/24", self.output("run", "10.77.0.2", "ip", "address"))

    def test_ssh_lets_a_shell_take_the_words_apart(self):
        self.up("--hosts", "1")
        self.assertEqual(self.output("ssh", "me@h0", "echo 'a  b';", "hostname"), "a  b\nh0\n")
        environment = {**os.environ, "TESTBED_NAME": PREFIX}
        done = subprocess.run([TESTBED, "ssh", "-x", "h0", "hostname"], env=environment,
                              capture_output=True, text=True)
        self.assertEqual(done.stdout, "h0\n", done.stderr)

    def test_the_status_of_a_command_is_its_own(self):
        self.up("--hosts", "1")
        self.assertEqual(testbed("run", "h0", "sh", "-c", "exit 5").returncode, 5)

    def test_a_cut_cable_has_no_carrier_until_it_is_mended(self):
        self.up("--hosts", "2", "--interfaces", "2")
        carrier = ["run", "h1", "cat", "/sys/class/net/eth0/carrier",
                   "/sys/class/net/eth1/carrier"]
        self.output("cut", "h1", "--interface", "0")
        self.assertEqual(self.output(*carrier), "0\n1\n")
        self.assertIn("eth0 10.77.0.2 CUT, eth1", self.output("list"))
        self.output("mend", "h1")
        self.assertEqual(self.output(*carrier), "1\n1\n")

    def test_links_are_limited_both_ways(self):
        if testbed("check", "--rate", "1gbit").returncode == SKIPPED:
            self.skipTest("no htb in this kernel")
        self.up("--hosts", "2", "--rate", "1gbit")
        self.assertIn("rate 1Gbit", self.output("run", "h1", "tc", "class", "show", "dev", "eth0"))
        self.assertIn("h1  eth0 10.77.0.2 1Gbit", self.output("list"))
        # More than a packet: a late timer is made up for.
        self.assertRegex(self.output("run", "h1", "tc", "class", "show", "dev", "eth0"),
                         r"cburst 8000b")

    def test_each_host_may_have_a_rate_of_its_own(self):
        if testbed("check", "--rate", "1gbit").returncode == SKIPPED:
            self.skipTest("no htb in this kernel")
        self.up("--hosts", "2", "--rate", "1gbit,100mbit")
        listed = self.output("list")
        self.assertIn("h0  eth0 10.77.0.1 1Gbit", listed)
        self.assertIn("h1  eth0 10.77.0.2 100Mbit", listed)
        self.assertIn("2 rates for 3 hosts", self.refusal("up", "--hosts", "3", "--rate", "1gbit,1gbit",
                                                          name=PREFIX + "-wrong"))

    def test_without_a_switch_hosts_pass_packets_on(self):
        self.up("--hosts", "4", "--cables", "0-1,1-2,2-3")
        hop = self.output("run", "h0", "ip", "route", "get", "10.77.0.4")
        self.assertIn("via 10.77.0.2 dev c1 src 10.77.0.1", hop)
        listen = ("import socket; one = socket.create_server(('', 4711)); print('listens', flush=True); "
                  "print(one.accept()[1][0])")
        connect = "import socket; socket.create_connection(('h3', 4711), 20)"
        with subprocess.Popen([TESTBED, "run", "--name", PREFIX, "h3", sys.executable, "-c", listen],
                              stdout=subprocess.PIPE, text=True) as server:
            self.assertEqual(server.stdout.readline(), "listens\n")
            self.output("run", "h0", sys.executable, "-c", connect)
            self.assertEqual(server.stdout.readline(), "10.77.0.1\n")
        self.assertIn("h1  eth0 10.77.0.2 cables", self.output("list"))
        self.assertIn("was made with --cables", self.refusal("cut", "h1"))

    def test_limited_links_keep_packets_in_order(self):
        self.assertEqual(network.processor_mask({0, 1}), "3")
        self.assertEqual(network.processor_mask({0, 33, 64}), "1,2,1")
        if testbed("check", "--rate", "1gbit").returncode == SKIPPED:
            self.skipTest("no htb in this kernel")
        self.up("--hosts", "2", "--rate", "100mbit")
        steering = "/sys/class/net/eth0/queues/rx-0/rps_cpus"
        mask = self.output("run", "h1", "sh", "-c", f"[ -w {steering} ] && cat {steering} || true")
        if not mask:
            self.skipTest("this kernel steers no packets, or /sys is not ours to write")
        self.assertNotEqual(mask.strip().strip("0,"), "", "no processor is named")

    def test_testbeds_stand_side_by_side(self):
        self.up("--hosts", "1")
        self.up("--hosts", "1", name=PREFIX + "-other")
        listed = self.output("list")
        self.assertIn(f"{PREFIX}:\n", listed)
        self.assertIn(f"{PREFIX}-other:\n", listed)
        self.output("down", name=PREFIX + "-other")
        self.assertEqual(self.output("run", "h0", "hostname"), "h0\n")
        self.assertIn("is there already", self.refusal("up", "--hosts", "1"))

    def test_down_ends_what_runs_and_may_be_repeated(self):
        self.up("--hosts", "1")
        with subprocess.Popen([TESTBED, "run", "--name", PREFIX, "h0", "sh", "-c",
                               "echo runs; exec sleep 100"], stdout=subprocess.PIPE) as sleeper:
            sleeper.stdout.readline()
            self.output("down")
            self.assertEqual(sleeper.wait(timeout=10), -9)
        self.output("down")
        self.assertEqual(namespaces_of(PREFIX), [])
        self.assertEqual(list(pathlib.Path("/etc/netns").glob(PREFIX + "-*")), [])

    def test_a_testbed_ends_with_its_killed_owner(self):
        name = PREFIX + "-owned"
        self.addCleanup(testbed, "down", name=name)
        with subprocess.Popen(["sleep", "100"]) as owner:
            up = testbed("up", "--hosts", "2", "--owner", str(owner.pid), name=name)
            self.assertEqual(up.returncode, 0, up.stderr)
            self.assertEqual(len(namespaces_of(name)), 3)
            owner.kill()
        deadline = time.monotonic() + 30
        while namespaces_of(name) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(namespaces_of(name), [])

    def test_mistakes_are_told_in_words(self):
        self.assertIn("there is no testbed", self.refusal("run", "h0", "true"))
        self.up("--hosts", "1")
        self.assertIn("has no host 'h7', only h0", self.refusal("cut", "h7"))
        self.assertIn("has no interface eth3, only eth0",
                      self.refusal("cut", "h0", "--interface", "3"))
        self.assertIn("give a command", self.refusal("run", "h0"))
        self.assertIn("not a rate such as", self.refusal("up", "--hosts", "1", "--rate", "fast"))
        for wrong, words in (("0-1", "no way leads from h0"), ("0-1,1-3", "joins no two of the 3 hosts"),
                             ("0-1,1-2,2-1", "or again"), ("0", "is not pairs of hosts")):
            self.assertIn(words, self.refusal("up", "--hosts", "3", "--cables", wrong,
                                              name=PREFIX + "-wrong"))


if __name__ == "__main__":
    support.main()
