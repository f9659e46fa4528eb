"""What a rank may have too little of: memory, descriptors, room on a disk, a clock that is right.

As in faults.py, a function prepares the scene, or is the fault and returns how to heal it.
"""
import os
import pathlib
import re
import resource
import subprocess
import time

import scene as scenes
from faults import nothing

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


def keep_heap(scene):
    """The rank program's own vectors find room in what is mapped: it is the library that gets no memory."""
    scene.environment |= {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
                          "MALLOC_TOP_PAD_": str(8 << 20)}


def no_memory(scene):
    """What it has mapped is all that it gets."""
    victim = scene.pid(scene.victim)
    status = pathlib.Path(f"/proc/{victim}/status").read_text()
    mapped = int(re.search(r"VmSize:\s+(\d+) kB", status)[1]) << 10
    resource.prlimit(victim, resource.RLIMIT_AS, (mapped, mapped))
    return nothing


def no_descriptors(scene):
    victim = scene.pid(scene.victim)
    most = 1 + max(map(int, os.listdir(f"/proc/{victim}/fd")))
    resource.prlimit(victim, resource.RLIMIT_NOFILE, (most, most))
    return nothing


def no_mounts(_):
    return "" if os.geteuid() == 0 else "a small disk of its own needs root"


def small_disk(scene):
    """64 KiB under the victim's trace and log. The others have room."""
    disk = scene.folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "faults", disk], check=True)
    scene.undo.append(lambda: subprocess.run(["umount", "--lazy", disk], check=True))
    scene.environment |= {"RONDO_TRACE": str(scene.folder / "trace"), "RONDO_DEBUG": "INFO",
                          "RONDO_DEBUG_FILE": str(scene.folder / "log.%p")}
    scene.prefix[scene.victim] = ["env", f"RONDO_TRACE={disk}/trace", f"RONDO_DEBUG_FILE={disk}/log.%p"]


def full_disk(scene):
    with open(scene.folder / "disk" / "filler", "wb", buffering=0) as filler:
        try:
            while filler.write(bytes(4096)):
                pass
        except OSError:
            return nothing


def no_faketime(_):
    return "" if pathlib.Path(FAKETIME).exists() else "the package faketime is not installed"


def own_clock(scene):
    """The victim's wall clock is as a file says. Its steady clock is left alone, as the kernel's is."""
    scene.environment |= {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_NO_CACHE": "1",
                          "FAKETIME_TIMESTAMP_FILE": str(scene.folder / "clock")}
    set_clock(scene, 0)
    scene.prefix[scene.victim] = ["env", f"LD_PRELOAD={FAKETIME}"]


def set_clock(scene, seconds):
    part = scene.folder / "clock.part"
    part.write_text(f"{seconds:+d}\n")
    part.rename(scene.folder / "clock")


def clock_jumps(scene):
    for seconds in (3600, -86400):
        set_clock(scene, seconds)
        shown = scene.help(*scene.on(scene.victim, "date", "+%s"), **scene.environment).require_success()
        jumped = abs(int(shown) - time.time() - seconds) < 600
        scenes.running.require(jumped, "the clock has not jumped", shown)
        begin = scenes.running.CLOCK.now()
        scenes.running.wait_until(lambda: scene.calls_since(begin), scene.timeout)
    return nothing
