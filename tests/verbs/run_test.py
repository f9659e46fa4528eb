#!/usr/bin/env python3
"""The script `run` itself: what goes into the guest and what comes out of it."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
RUN = pathlib.Path(__file__).resolve().with_name("run")
SKIPPED = 77


def run(*words, **more):
    return subprocess.run([RUN, *words], capture_output=True, text=True, **more)


class OptionsNeedNoGuest(unittest.TestCase):
    def refusal(self, *words):
        done = run(*words)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_help_is_the_text_at_the_head_of_the_script(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--time-limit SECONDS", done.stdout)
        self.assertNotIn("#!", done.stdout)

    def test_mistakes_are_told_in_words(self):
        self.assertIn("give a command", self.refusal())
        self.assertIn("unknown option '--fast'", self.refusal("--fast", "true"))
        self.assertIn("needs a value", self.refusal("--mtu"))
        self.assertIn("'soon' is not a positive number", self.refusal("-t", "soon", "true"))
        self.assertIn("no folder /nowhere", self.refusal("--writable", "/nowhere", "true"))

    def test_a_folder_that_the_guest_does_not_see_is_told(self):
        done = run("true", cwd="/dev")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("does not see this machine's /dev: run it from", done.stderr)

    def unavailable(self, *words, **more):
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "VERBS_GUEST_CACHE": cache, **more}
            done = subprocess.run(words, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, SKIPPED, done.stderr)
        self.assertIn("NO GUEST CAN RUN ON THIS MACHINE", done.stderr)
        return done.stderr

    def test_a_machine_without_qemu_and_apt_is_told_so(self):
        no_program = "command() { return 1; }; export -f command; exec \"$0\" true"
        told = self.unavailable("bash", "-c", no_program, RUN)
        self.assertIn("has no apt-get and lacks what these packages hold: busybox-static", told)
        self.assertIn("qemu-system-x86", told)

    def test_an_unknown_kernel_is_told(self):
        told = self.unavailable(RUN, "true", VERBS_GUEST_KERNEL="linux-image-0.0-none")
        self.assertIn("apt cannot download linux-image-0.0-none", told)


class Guests(unittest.TestCase):
    def test_a_command_finds_its_world_and_its_devices(self):
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder, "it's a \"folder\"")
            work.mkdir()
            script = """
                printf '%s|' "$@" "$TOLD" "$VERBS_GUEST" "$PWD"
                echo to-err >&2; echo also-err >/dev/stderr
                echo kept >kept; echo forgotten >../forgotten
                echo; ulimit -l; cat; ls /sys/class/infiniband
                cat /sys/class/infiniband/rxe2/ports/1/gids/1
                ibv_devinfo | grep -c 'active_mtu:.*1024'
                (trap '' TERM HUP; sleep 1000) &
                exit 7"""
            done = run("--mtu", "1500", "--writable", work, "--", "bash", "-c", script, "bash", "a  b", "'$c",
                       cwd=work, env={**os.environ, "TOLD": "first\nsecond"}, input="unseen")
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertEqual(done.stderr, "to-err\nalso-err\n")
            self.assertEqual(done.stdout.split("\n"), [
                "a  b|'$c|first", f"second|1|{work}|", "unlimited", "rxe0", "rxe1", "rxe2",
                "0000:0000:0000:0000:0000:ffff:0a4d:0102", "3", ""])
            self.assertEqual((work / "kept").read_text(), "kept\n")
            self.assertFalse(pathlib.Path(folder, "forgotten").exists())

    def test_a_command_that_takes_too_long_is_ended(self):
        done = run("--time-limit", "2", "sleep", "1000")
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assertIn("ran out of its 2 seconds", done.stderr)

    def test_a_guest_that_dies_is_told_with_its_last_words(self):
        done = run("sh", "-c", "echo begun; echo c >/proc/sysrq-trigger; sleep 1000")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("sysrq triggered crash", done.stderr)
        self.assertIn("the guest died while the command ran", done.stderr)
        # QEMU itself may have crashed before, as the guest booted. That is tried again, and this is not.
        self.assertNotIn("attempt", done.stderr.partition("sysrq triggered crash")[2])


if __name__ == "__main__":
    setup = run("--setup")
    if setup.returncode == SKIPPED:
        print(f"WARNING: NOTHING IS TESTED HERE: {setup.stderr}", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
