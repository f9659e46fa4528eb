"""Things break while ranks work. Each rank is told what broke, by name, and nothing hangs."""
import os
import re
import signal

import place
from job import failure_of
from running import CLOCK, Running, require, wait_until

# A device gives a peer up after less than two seconds, see on_two_devices(). It may take four times as
# long. The rest is for emulated processors.
DEVICE_SECONDS = 80
PROCESS_SECONDS = 60


def on_two_devices(rank):
    """Settings for three tries of half a second each. (rxe takes 7 tries, the default, as endless.)"""
    return {"RONDO_IB_HCA": "=rxe1" if rank < 2 else "=rxe2", "RONDO_IB_TIMEOUT": "17",
            "RONDO_IB_RETRY_CNT": "2"}


def start_turning(jobs, environment_of, size):
    ranks = jobs.alone(4, "up", "join", f"loop=all_reduce,{size}", environment_of=environment_of)
    for rank in ranks:
        rank.wait_for("turning ")
    return ranks


def end_in(ranks, seconds):
    """{rank: (code, peer, text)} once all have ended with an error."""
    begin = CLOCK.now()
    try:
        for rank in ranks:
            status = rank.status(max(1, seconds - (CLOCK.now() - begin)))
            require(status == 3, f"a rank ended with status {status}", rank.log)
    finally:
        for rank in ranks:
            rank.kill()
    return {number: failure_of(rank) for number, rank in enumerate(ranks)}


def everything(failures):
    return "\n".join(text for _, _, text in failures.values())


def require_named(failures, device):
    """Each rank must name a peer and the device."""
    for rank, (code, peer, text) in failures.items():
        require(0 <= peer < 4 and peer != rank and f"rank {peer}" in text,
                f"rank {rank} names no peer ({code}, {peer})", everything(failures))
        require(re.search(device, text), f"rank {rank} names no device", everything(failures))


def require_done(command):
    """The command has ended well. The kernel may take long for it."""
    status = command.status(DEVICE_SECONDS)
    require(status == 0, f"ended with status {status}", command.log + place.output_of("dmesg"))


def broken(jobs, *command):
    """What a job across the cable says after the command has broken the cable. The command may have to
    wait until the ranks have let go."""
    ranks = start_turning(jobs, on_two_devices, 50000)
    breaking = Running(*command)
    try:
        failures = end_in(ranks, DEVICE_SECONDS)
        require_named(failures, r"rxe[12]")
        require_done(breaking)
        return everything(failures)
    finally:
        place.make_devices()


def cable_pulled(jobs):
    """Both devices know at once: their ports are down."""
    text = broken(jobs, "ip", "link", "set", "veth1", "down")
    require(re.search(r"the port (is|went) down", text), "nobody says that a port is down", text)


def port_flaps(jobs):
    """A port that comes back in time is only a warning. A port that does not is an error that names it.
    (The device's packets to itself need no carrier.)"""
    ranks = start_turning(jobs, lambda rank: {**on_two_devices(rank), "RONDO_IB_HCA": "=rxe0"}, 1000)
    try:
        place.set_carrier("dummy0", False)
        for rank in ranks:
            rank.wait_for("the port went down on rxe0 port 1")
        place.set_carrier("dummy0", True)
        sent = place.packets_sent("rxe0")
        # This is longer than the devices' timeout for the port.
        require(not wait_until(lambda: any(rank.has_ended() for rank in ranks), 4),
                "a rank has ended", "\n".join(rank.log for rank in ranks))
        require(place.packets_sent("rxe0") > sent + 100, "nothing is sent any more")
        place.set_carrier("dummy0", False)
        text = everything(end_in(ranks, DEVICE_SECONDS))
        require("the port went down on rxe0 port 1" in text, "the port is not named", text)
    finally:
        place.set_carrier("dummy0", True)


def network_device_deleted(jobs):
    """A network device takes the RDMA devices on its ends with it, even if they are in use."""
    text = broken(jobs, "ip", "link", "delete", "veth1")
    require("the device is gone on rxe" in text, "nobody says that a device is gone", text)


def device_deleted(jobs):
    """Linux takes an RDMA device from its list at once, and waits with the rest until nobody uses it
    any more. Ranks work on, and the device goes once they have ended."""
    ranks = start_turning(jobs, on_two_devices, 50000)
    deletion = Running("rdma", "link", "delete", "rxe1")
    try:
        require(wait_until(lambda: "rxe1" not in place.device_names(), DEVICE_SECONDS),
                "the device is still listed")
        before = place.bytes_on_cable()
        require(wait_until(lambda: place.bytes_on_cable() > before + 5_000_000 or
                                 any(rank.has_ended() for rank in ranks), DEVICE_SECONDS),
                "ranks neither work nor end", "\n".join(rank.log for rank in ranks))
        if not any(rank.has_ended() for rank in ranks):
            require(not deletion.has_ended(), "a device in use has gone without a word")
            ranks.pop().kill()
        require_named(end_in(ranks, DEVICE_SECONDS), "rank 3" if len(ranks) == 3 else r"rxe[12]")
        require_done(deletion)
    finally:
        place.make_devices()


def queue_pairs_differ(jobs):
    job = jobs.start(2, jobs.program("job_rank_program"), "1:set=RONDO_IB_QPS_PER_CONNECTION=2",
                     "join", "call=all_reduce,10", RONDO_IB_HCA="=rxe0")
    require(job.status() == 3, "different numbers of queue pairs are no error", job.log)
    told = (r"rank 1 uses 2 queue pairs a connection, rank 0 uses 1 "
            r"|rank 0 uses 1 queue pairs a connection, rank 1 uses 2 ")
    require(re.search(told, job.text), "the error does not name both numbers", job.log)


def cable_silent(jobs):
    """No device learns that the cable is silent. They send again until they give up."""
    place.output_of("modprobe", "sch_netem")
    broken(jobs, "tc", "qdisc", "add", "dev", "veth1", "root", "netem", "loss", "100%")


def killed(jobs, lost, size):
    ranks = start_turning(jobs, lambda rank: {"RONDO_IB_HCA": "=rxe0"}, size)
    victim = ranks.pop(lost)
    process = int(re.search(r"up \d+ (\d+)", victim.text)[1])
    os.kill(process, signal.SIGKILL)
    for code, peer, text in end_in(ranks, PROCESS_SECONDS).values():
        require((code, peer) == ("peer_lost", lost), f"{code} {peer} is told for the killed", text)
        require(f"pid {process})" in text, "the killed process is not named", text)


def peer_killed_in_small_calls(jobs):
    killed(jobs, 1, 100)


def peer_killed_in_large_calls(jobs):
    """The killed peer is named, whatever its rank and however devices call the loss."""
    for lost in (0, 2):
        killed(jobs, lost, 300000)


def peer_stopped(jobs):
    """Silence is not the loss of a connection. The timeout of a call ends it."""
    ranks = jobs.alone(3, "up", "join", "loop=all_reduce,1000",
                       environment_of=lambda rank: {"RONDO_TIMEOUT": "12", "RONDO_IB_HCA": "=rxe0"})
    for rank in ranks:
        rank.wait_for("turning ")
    silent = ranks.pop(1)
    silent.send_signal(signal.SIGSTOP)
    try:
        for code, peer, text in end_in(ranks, PROCESS_SECONDS).values():
            require((code, peer) == ("timeout", 1), f"{code} {peer} is told for the stopped", text)
    finally:
        silent.kill()


def no_such_device(jobs):
    job = jobs.start(2, jobs.program("job_rank_program"), "join", "call=all_reduce,10",
                     RONDO_IB_HCA="=mlx5_7")
    require(job.status() == 3, "a device that is not there is no error", job.log)
    require("mlx5_7" in job.text and "Try: " in job.text, "the error does not say so", job.log)
