#!/usr/bin/python3
"""`rondo explain --step` in a real terminal: keys, resizing, playing, quitting, being killed.

Usage: step_terminal_test.py RONDO. The terminal is a pseudo-terminal whose output pyte draws.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

try:
    import pyte
except ImportError:
    sys.exit("step_terminal_test.py: install python3-pyte")

PATIENCE = 60  # seconds until something that must happen counts as missing
RONDO = None
RING = ["explain", "all_reduce", "--algorithm", "ring", "--ranks", "4", "--step"]


class Session:
    """rondo in a terminal of its own, as the leader of its session."""

    def __init__(self, arguments, lines=24, columns=80, term="linux"):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.bytes = b""
        self.status = None
        # Its size is there before the program is.
        self.master, slave = pty.openpty()
        self.set_size(lines, columns)
        self.before = termios.tcgetattr(slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.master)
            self.take_terminal(slave)
            os.environ.update(TERM=term)
            for name in ("LINES", "COLUMNS"):
                os.environ.pop(name, None)
            try:
                os.execv(RONDO, [RONDO] + arguments)
            finally:
                os._exit(127)  # or the child would go on with the tests, and fork again
        self.slave = slave  # kept open: what the program leaves can be read when it is gone

    @staticmethod
    def take_terminal(slave):
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for descriptor in (0, 1, 2):
            os.dup2(slave, descriptor)

    def set_size(self, lines, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, lines, columns):
        self.screen.resize(lines, columns)
        self.set_size(lines, columns)  # the kernel tells the program by SIGWINCH

    def press(self, keys):
        os.write(self.master, keys)

    def read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return
        data = os.read(self.master, 65536)
        self.bytes += data
        self.stream.feed(data)

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait_for(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline or self.ended():
                raise AssertionError(f"never {what}; the screen:\n{self.text()}")
            self.read(0.05)

    def see(self, words):
        self.wait_for(lambda: words in self.text(), f"saw {words!r}")

    def ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def wait(self):
        """The exit status, negative for a signal. Reads the terminal's last words."""
        deadline = time.monotonic() + PATIENCE
        while not self.ended():
            if time.monotonic() > deadline:
                raise AssertionError(f"never ended; the screen:\n{self.text()}")
            self.read(0.05)
        self.read(0)
        return os.waitstatus_to_exitcode(self.status)

    def restored(self):
        """Whether settings are as they were, the cursor is shown, and the other screen is left."""
        return (termios.tcgetattr(self.slave) == self.before
                and not self.screen.cursor.hidden)

    def close(self):
        if not self.ended():
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        os.close(self.master)
        os.close(self.slave)


class StepTest(unittest.TestCase):
    def open(self, *arguments, **terminal):
        session = Session(list(arguments) or RING, **terminal)
        self.addCleanup(session.close)
        return session

    def quit(self, session):
        session.press(b"q")
        self.assertEqual(session.wait(), 0)
        self.assertTrue(session.restored())

    def test_forward_back_and_jump(self):
        session = self.open()
        session.see("round 0 of 6: the beginning")
        session.see("q quit  ? keys")
        self.assertTrue(session.screen.cursor.hidden)
        session.press(b"n")
        session.see("round 1 of 6: reduce-scatter, its round 1")
        session.see(" d     0        [01]     2        3")
        session.press(b"g5\r")
        session.see("round 5 of 6: all-gather, its round 2")
        session.press(b"b")
        session.see("round 4 of 6")
        session.see(" d     [*]      01       012      *")
        self.quit(session)

    def test_cursor_keys_in_both_forms(self):
        session = self.open()
        for right, left in ((b"\033[C", b"\033[D"), (b"\033OC", b"\033OD")):
            session.press(right)
            session.see("round 1 of 6")
            session.press(left)
            session.see("round 0 of 6")
        session.press(b"\033[B\t")
        session.see(">a ")
        session.see(">rank 0")
        session.press(b"\033")  # alone it stops following
        session.wait_for(lambda: ">rank 0" not in session.text(), "stopped following")
        self.quit(session)

    def test_playing_reaches_the_end(self):
        session = self.open()
        session.press(b"++++ ")
        session.see("round 6 of 6: all-gather, its round 3")
        session.wait_for(lambda: "playing" not in session.text(), "stopped playing")
        self.quit(session)

    def test_resizing(self):
        session = self.open("explain", "all_reduce", "-a", "ring", "-n", "32", "--step")
        session.see("of 32 ranks (Tab), 32 chunks")
        narrow = session.text().count("rank ")
        session.resize(50, 200)
        session.see("\n 31    0  ")  # the last chunk, now that there is room
        self.assertGreater(session.text().count("rank "), narrow)
        session.resize(5, 20)
        session.see("too small: 32x10")
        session.resize(24, 80)
        session.see("of 32 ranks (Tab), 32 chunks")
        session.press(b"n")
        session.see("round 1 of 62")
        self.quit(session)

    def test_it_starts_at_the_terminals_size(self):
        session = self.open(lines=12, columns=40)
        session.see("round 0 of 6")
        session.press(b"nn")
        session.see("round 2 of 6")
        session.see("space play")
        self.assertLessEqual(max(map(len, session.text().split("\n"))), 40)
        self.quit(session)

    def test_any_terminal(self):
        for term in ("vt100", "vt220", "xterm", "xterm-256color", "screen", "tmux", "ansi"):
            with self.subTest(term=term):
                session = self.open(term=term)
                session.press(b"nn")
                # pyte does not draw all that these can do; the words must have been sent.
                session.wait_for(lambda s=session: b"Messages of this round" in s.bytes, "drawn")
                session.press(b"q")
                self.assertEqual(session.wait(), 0)
                self.assertEqual(termios.tcgetattr(session.slave), session.before)

    def test_signals_restore_the_terminal(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(signal=number):
                session = self.open()
                session.see("q quit")
                os.kill(session.pid, number)
                self.assertEqual(session.wait(), -number)  # it dies of it, as shells expect
                self.assertTrue(session.restored())

    def test_control_c_while_playing(self):
        session = self.open()
        session.press(b"--- ")
        session.see("playing, 0.25 rounds/s")
        session.press(b"\003")
        self.assertEqual(session.wait(), -signal.SIGINT)
        self.assertTrue(session.restored())

    def test_ignored_signals_stay_ignored(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        try:
            session = self.open()
        finally:
            signal.signal(signal.SIGHUP, before)
        session.see("q quit")
        os.kill(session.pid, signal.SIGHUP)
        session.press(b"n")
        session.see("round 1 of 6")
        self.quit(session)

    def test_a_terminal_that_goes_away_ends_it(self):
        session = self.open()
        session.see("q quit")
        os.close(session.slave)
        os.close(session.master)
        deadline = time.monotonic() + PATIENCE
        while not session.ended():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.assertEqual(os.waitstatus_to_exitcode(session.status), -signal.SIGHUP)
        session.master, session.slave = os.pipe()  # for close()

    def test_where_it_cannot_be(self):
        def complaint(**how):
            run = subprocess.run([RONDO] + RING, capture_output=True, timeout=PATIENCE, check=False,
                                 **how)
            self.assertEqual(run.returncode, 2)
            return run.stderr.decode()
        self.assertIn("--step needs a terminal for its input and output", complaint())
        for term, words in (("dumb", "that can move its cursor, but TERM is dumb"),
                            ("nonsense", "a known terminal, but TERM is nonsense"),
                            ("", "a known terminal, but TERM is not set")):
            with self.subTest(term=term):
                session = self.open(term=term)
                self.assertEqual(session.wait(), 2)
                said = session.bytes.decode().replace("\r\n", "\n")
                self.assertIn(words, said)
                self.assertNotIn("\033", said)  # nothing was drawn
                self.assertEqual(termios.tcgetattr(session.slave), session.before)

    def test_too_many_ranks(self):
        session = self.open("explain", "all_reduce", "-n", "65", "--step")
        self.assertEqual(session.wait(), 2)
        self.assertIn("--step shows up to 64 ranks", session.bytes.decode())

    def test_without_signs_on_the_other_screen(self):
        session = self.open(term="xterm")
        session.wait_for(lambda: b"q quit" in session.bytes, "drawn")
        self.assertIn(b"\033[?1049h", session.bytes)
        session.press(b"q")
        self.assertEqual(session.wait(), 0)
        self.assertIn(b"\033[?1049l", session.bytes)  # what stood there before is back


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    RONDO = os.path.abspath(sys.argv.pop(1))
    unittest.main()
