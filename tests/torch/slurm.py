"""A Slurm cluster of two nodes on this machine, from Debian's slurmctld, slurmd and munge.

    with slurm.Cluster() as cluster:
        cluster.run("srun", "-N2", "-n4", "hostname")

Everything lies in a folder of its own, on free ports; nothing of an installed Slurm or munge is
touched. Both nodes are this machine, so the memory that programs share is shared between them, too.
"""

import getpass
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from ports import free_ports

NODES = ("node0", "node1")
LIMIT = 600  # seconds until a daemon that does not answer counts as broken

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
MpiDefault=none
MessageTimeout=100
NodeName={nodes[0]} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs={cpus}
NodeName={nodes[1]} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs={cpus}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def program(name):
    """Its path. Debian keeps daemons in folders that are only on root's PATH."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if path is None:
        raise RuntimeError(f"there is no {name} here: tools/setup torch installs it")
    return path


class Cluster:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="slurm-"))
        self.daemons = []

    def __enter__(self):
        try:
            self.write_files()
            self.start("munged", "--foreground", "--force", f"--key-file={self.folder}/munge/key",
                       f"--socket={self.folder}/munge/socket", f"--pid-file={self.folder}/munge/pid",
                       f"--log-file={self.folder}/munge/log", f"--seed-file={self.folder}/munge/seed",
                       "--num-threads=2")
            self.wait_until("munged", (self.folder / "munge/socket").exists)
            self.start("slurmctld", "-D", "-i")
            for node in NODES:
                self.start("slurmd", "-D", "-N", node)
            self.wait_until("the nodes", self.nodes_are_idle)
            return self
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()

    def write_files(self):
        self.folder.chmod(0o755)  # munged requires that its socket can be reached
        for name in ("munge", "state", *(f"spool-{node}" for node in NODES)):
            (self.folder / name).mkdir(mode=0o755)
        key = self.folder / "munge/key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0], user=getpass.getuser(), folder=self.folder,
            ports=free_ports(3), nodes=NODES, cpus=os.cpu_count()))

    def environment(self):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        return clean | {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def start(self, name, *options):
        log = (self.folder / f"{name}-{len(self.daemons)}.out").open("w")
        self.daemons.append(subprocess.Popen([program(name), *options], env=self.environment(),
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def nodes_are_idle(self):
        answer = self.run("sinfo", "-h", "-N", "-o", "%T", limit=100)
        return answer.stdout.split() == ["idle"] * len(NODES)

    def wait_until(self, what, true):
        end = time.monotonic() + LIMIT
        while not true():
            ended = [daemon.args[0] for daemon in self.daemons if daemon.poll() is not None]
            if ended or time.monotonic() > end:
                raise RuntimeError(f"Slurm: {what} did not come up; ended: {ended or 'none'}\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        paths = [*self.folder.glob("*.log"), *self.folder.glob("*.out"), *self.folder.glob("munge/log")]
        return "\n".join(f"{path.name}:\n" + "\n".join(path.read_text().splitlines()[-10:])
                         for path in sorted(paths))

    def run(self, *command, limit=900, **variables):
        """A command of Slurm's, with its output and errors as text."""
        try:
            return subprocess.run(list(map(str, command)), env=self.environment() | variables,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=limit)
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(command, 1, f"{late}\n{late.output}\n{self.logs()}")

    def stop(self):
        """Stops the nodes first, in reverse order. Daemons that do not end by themselves are killed."""
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
