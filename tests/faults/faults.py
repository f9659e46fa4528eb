"""The faults: each is a function on a scene, and returns how to heal it. They meet a job in flight."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import kernel
import scene as scenes

SLEEP = 3  # seconds; shorter than any timeout
LARGE_SEGMENT = 1000  # bytes of a TCP segment that carries data; a header has far fewer


def nothing():
    pass


# ---- processes


def kill(scene):
    kernel.send(scene.pid(scene.victim), signal.SIGKILL)
    return nothing


def stop(scene):
    victim = scene.pid(scene.victim)
    kernel.send(victim, signal.SIGSTOP)
    return lambda: kernel.send(victim, signal.SIGCONT)


def pause(processes, seconds):
    kernel.stop_all(processes)
    time.sleep(seconds)  # it is the fault itself
    kernel.go_on(processes)
    return nothing


def sleep(scene):
    return pause([scene.pid(rank) for rank in scene.at_fault()], SLEEP)


def suspend(scene):
    return pause([scene.pid(rank) for rank in range(scene.ranks)], scene.timeout + SLEEP)


def kill_launcher(scene):
    kernel.send(scene.commands[0].pid, signal.SIGKILL)
    return nothing


def kill_remote(scene):
    kernel.send(scene.launcher_of(scene.victim), signal.SIGKILL)
    return nothing


def stop_launcher(scene):
    return pause([scene.commands[0].pid], SLEEP)


def stop_remote(scene):
    return pause([scene.launcher_of(scene.victim)], SLEEP)


def lose_remote(scene):
    remote = scene.launcher_of(scene.victim)
    kernel.send(remote, signal.SIGSTOP)
    kernel.send(scene.pid(scene.victim), signal.SIGKILL)
    return lambda: kernel.send(remote, signal.SIGCONT)


# ---- cables


def cut(scene):
    scene.network("cut", "--interface", "0")
    return nothing


def vanish(scene):
    """Its processes end, and no word of that gets out."""
    scene.network("cut")
    for rank in scene.at_fault():
        kernel.send(scene.pid(rank), signal.SIGKILL)
    return nothing


def reboot(scene):
    vanish(scene)
    ranks = scene.at_fault()
    scenes.running.wait_until(lambda: all(scene.commands[rank].has_ended() for rank in ranks), 10)
    scene.network("mend")
    return nothing


def lay_wire(scene):
    """A cable that can go bad, between the victim's host and its switch."""
    inside = ["ip", "netns", "exec", f"{scene.name}-switch"]
    port = f"h{scene.host_of(scene.victim)}-0"
    for words in (f"link set {port} nomaster", "link add near type veth peer name far",
                  "link set far master b0 up", "link set near up"):
        subprocess.run([*inside, "ip", *words.split()], check=True)
    scene.wire = scene.help(*inside, sys.executable, scenes.HERE / "wire.py", port, "near")
    scene.wire.wait_for("carries")


def checked_wire(scene):
    lay_wire(scene)
    scene.environment["RONDO_CHECKSUM"] = "1"


def deaf(scene):
    scene.wire.tell("deaf second")
    scene.wire.wait_for("obeyed")
    return nothing


def mute(scene):
    scene.wire.tell("deaf first")
    scene.wire.wait_for("obeyed")
    return nothing


def corrupt(scene):
    """Between ranks that exchange data, a segment comes at once; what the control channel says is rare."""
    data = scene.transport.name == "tcp"
    scene.wire.tell(f"flip {LARGE_SEGMENT if data and scene.cell.collective != 'barrier' else 1}")
    scene.wire.wait_for("flipped" if data else "obeyed")
    return nothing


def no_checksums(programs):
    """Without them a flipped bit is a wrong sum, as TCP's own checksum fits."""
    if b"RONDO_CHECKSUM" in (programs / "job_rank_program").read_bytes():
        return ""
    return "this build has no checksums"


def two_devices(scene):
    """The victim is on one end of the cable in tests/verbs' guest, the others on the other."""
    for rank in range(scene.ranks):
        scene.prefix[rank] = ["env", f"RONDO_IB_HCA=={'rxe1' if rank == scene.victim else 'rxe2'}"]


def port_down(scene):
    """In tests/verbs' guest: the cable between two devices."""
    subprocess.run(["ip", "link", "set", "veth1", "down"], check=True)
    return lambda: subprocess.run(["/bin/sh", scenes.ROOT / "tests/verbs/guest/devices", "4200"], check=True)


# ---- strangers


def garbage(scene):
    scene.strangers("garbage")
    return nothing


def slow(scene):
    scene.strangers("slow")
    return nothing


def idle(scene):
    scene.strangers("idle")
    return nothing


def tools_missing():
    """Why this machine cannot have the cells with hosts, or nothing."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        return "several hosts on one machine need root and the program ip"
    done = subprocess.run([scenes.FOLDER / "testbed", "check"], capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""
