#!/usr/bin/env python3
"""--hosts over a real sshd on this machine: whatever works here has been through ssh.

Without sshd nothing can be checked: the program says so and exits with what ctest shows as a skipped test.
"""
import os
import pathlib
import shutil
import sys
import tempfile
import unittest
from signal import SIGKILL, SIGTERM, SIGUSR1

from support import flood, job, kill, lines_of, started

from jobs import SKIPPED, Job, JobTest, finish
from ports import free_port

# In which a root's sshd locks itself in. Debian makes it when it boots, but a chroot does not boot. It is
# left there, since another test's sshd may need it.
RUN_FOLDER = pathlib.Path("/run/sshd")
SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
CONFIGURATION = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
LogLevel VERBOSE
SetEnv {mark}
UsePAM {use_pam}
"""


class Server:
    """A real sshd for one test run: own port, own keys, own configuration."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for name in ("host_key", "user_key", "wrong_key"):
            words = ["-q", "-t", "ed25519", "-N", "", "-f", self.folder / name]
            assert finish("ssh-keygen", *words).status == 0
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")
        if os.geteuid() == 0:
            RUN_FOLDER.mkdir(exist_ok=True)
        # With which a login works depends on how the account is set up.
        complaints = self.start("no") and self.start("yes")
        assert not complaints, f"no login over ssh: {complaints}"

    def start(self, use_pam):
        """Returns what speaks against it."""
        port = free_port()
        self.mark = f"RONDORUN_TEST_LOGIN={os.getpid()}.{port}"
        path = self.folder / "sshd_config"
        path.write_text(CONFIGURATION.format(port=port, folder=self.folder, mark=self.mark, use_pam=use_pam))
        self.process = Job(SSHD, "-D", "-e", "-f", path)
        self.process.wait_until(lambda: "Server listening" in self.process.error or self.process.has_ended(),
                                "sshd")
        self.command, self.wrong_command = [
            f"ssh -F none -p {port} -i {self.folder}/{key} -o IdentitiesOnly=yes -o IdentityAgent=none "
            "-o LogLevel=ERROR -o StrictHostKeyChecking=no "
            f"-o UserKnownHostsFile={self.folder}/known_hosts" for key in ("user_key", "wrong_key")]
        login = finish("sh", "-c", f"{self.command} -o BatchMode=yes 127.0.0.1 true")
        return "" if login.status == 0 else f"{login.error}{self.process.error}"


class Hosts(JobTest):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.addClassCleanup(cls.server.process.kill)

    def hosts(self, names, *more):
        return ["--hosts", names, "--ssh", self.server.command, *more]

    def wait_nothing_left(self, ranks):
        """On either side. Logins, rondorun's remote side among them, have a variable that sshd sets."""
        ranks.wait_until(lambda: not ranks.left() and not Job.left_with(self.server.mark),
                         "the end of all processes, remote ones too")

    def test_ranks_of_several_hosts_share_a_world_the_right_variables_travel(self):
        words = job(self.hosts("127.0.0.1:2,127.0.0.1:1", "--env", "MINE=a 'b' \"c\" $d\n;e"),
                    "environment", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
                    "MASTER_ADDR", "RONDO_ONE", "NCCL_TWO", "OTHER", "MINE")
        with Job(*words, RONDO_ONE="1", NCCL_TWO="2", OTHER="3") as ranks:
            result = ranks.result()
            self.assertEqual(result.status, 0)
            self.assertNotIn("rondo", result.error)  # the account's shell may say things of its own
            rest = "MASTER_ADDR=127.0.0.1 RONDO_ONE=1 NCCL_TWO=2 OTHER=(unset) MINE=a 'b' \"c\" $d"
            self.assertEqual(lines_of(result.output), sorted([
                *(f"RANK={rank} WORLD_SIZE=3 LOCAL_RANK={rank % 2} LOCAL_WORLD_SIZE={2 - rank // 2} "
                  f"GROUP_RANK={rank // 2} {rest}" for rank in range(3)), *[";e"] * 3]))
            self.wait_nothing_left(ranks)

    def test_arguments_and_the_working_directory_arrive_as_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            directory = pathlib.Path(folder) / "it's a \"folder\""
            directory.mkdir()
            words = job(self.hosts("127.0.0.1:1"), "arguments", "a b", "", "$HOME", "'", "\"", "*", "\\")
            self.assertEqual(finish(*words, cwd=directory).output,
                             f"[a b]\n[]\n[$HOME]\n[']\n[\"]\n[*]\n[\\]\n{directory}\n")

    def test_output_arrives_whole_on_its_own_stream_with_its_rank(self):
        result = finish(*job(self.hosts("127.0.0.1:2,127.0.0.1:2", "--prefix"), "flood", 3000))
        self.assertEqual(result.status, 0)
        for text in (result.output, result.error):
            lines = text.splitlines()
            for rank in range(4):
                head = f"[rank {rank}] "
                own = [line.removeprefix(head) for line in lines if line.startswith(head)]
                self.assertTrue(own == flood(rank, 3000), f"lines of rank {rank} are wrong")
            self.assertEqual(len(lines), 4 * 3000)

    def test_a_killed_remote_rank_ends_the_job_on_every_host(self):
        def attempt():
            with started(4, self.hosts("127.0.0.1:2,127.0.0.1:2"), "stubborn") as ranks:
                ranks.kill_rank(2)
                in_time = ranks.ends_in_time()
                self.assertEqual(ranks.end(), 137)
                self.assertIn(f"rondorun: rank 2 (pid {ranks.rank(2)}, host 127.0.0.1) was killed by signal "
                              "9 (SIGKILL); ending the others\n", ranks.error)
                self.wait_nothing_left(ranks)
                return in_time

        self.in_time(attempt)

    def test_a_remote_ranks_status_is_the_jobs(self):
        result = finish(*job(self.hosts("127.0.0.1:1,127.0.0.1:1"), "leave", 7, 1))
        self.assertEqual(result.status, 7)
        self.assertIn("host 127.0.0.1) exited with status 7; ending the others", result.error)

    def test_remote_ranks_can_meet_at_the_port_that_was_chosen(self):
        with started(1, self.hosts("127.0.0.1:2,127.0.0.1:1"), "peers", 0) as ranks:
            ranks.send_signal(SIGTERM)
            ranks.end()
            self.wait_nothing_left(ranks)

    def test_signals_reach_remote_ranks(self):
        with started(2, self.hosts("127.0.0.1:1,127.0.0.1:1"), "polite") as ranks:
            ranks.send_signal(SIGUSR1)
            ranks.wait_for(f" got {SIGUSR1:d}\n", 2)
            ranks.send_signal(SIGTERM)
            self.assertEqual(ranks.end(), 0)
            for rank in (0, 1):
                self.assertIn(f"rank {rank} got {SIGTERM:d}\n", ranks.text)
            self.wait_nothing_left(ranks)

    def test_when_the_local_rondorun_is_killed_nothing_is_left_on_other_hosts(self):
        with started(2, self.hosts("127.0.0.1:1,127.0.0.1:1"), "daemon", "stay") as ranks:
            ranks.send_signal(SIGKILL)
            self.wait_nothing_left(ranks)

    def test_when_ssh_is_killed_the_job_ends_on_both_sides(self):
        with started(2, self.hosts("127.0.0.1:1,127.0.0.1:1"), "stubborn") as ranks:
            # The local side consists of the front, the supervisor and one ssh per host.
            programs = {pathlib.Path(f"/proc/{local}/comm").read_text(): local for local in ranks.left()}
            kill(programs["ssh\n"], SIGKILL)
            self.assertEqual(ranks.end(), 1)
            self.assertIn("lost host 127.0.0.1: 'ssh' was killed by signal 9", ranks.error)
            self.wait_nothing_left(ranks)

    def check_unreachable(self, words, *texts):
        result = finish(*words)
        self.assertEqual(result.status, 1)
        for text in texts:
            self.assertIn(text, result.error)

    def test_a_host_that_lets_nobody_in_is_named_with_sshs_own_words_and_a_remedy(self):
        self.check_unreachable(
            job(["--hosts", "127.0.0.1:1", "--ssh", self.server.wrong_command], "environment", "RANK"),
            "Permission denied (publickey)", "cannot reach host 127.0.0.1: 'ssh' exited with status 255",
            "work without asking a question?")

    def test_a_host_without_rondorun_is_named(self):
        self.check_unreachable(
            job(self.hosts("127.0.0.1:1", "--remote-path", "/no/rondorun"), "environment", "RANK"),
            "/no/rondorun", "cannot reach host 127.0.0.1: 'ssh' exited with status 127")


if __name__ == "__main__":
    if not (SSHD and shutil.which("ssh") and shutil.which("ssh-keygen")):
        print("WARNING: NOTHING IS TESTED HERE: sshd is not installed (openssh-server)", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
