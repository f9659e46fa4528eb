"""Installs the peers' packages when root, and builds the drivers."""
import os
import pathlib
import subprocess

from record import ROOT, command_output

BUILD = ROOT / "build" / "release"
PACKAGES = ["openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev", "libgloo-dev",
            "python3-matplotlib"]


def installed(package):
    return "ok installed" in command_output("dpkg-query", "-W", "-f=${Status}", package)


def install_peers():
    """Says what is missing where it may not install it: the comparison goes on without."""
    missing = [package for package in PACKAGES if not installed(package)]
    if not missing:
        return
    if os.geteuid() != 0:
        print(f"not installed, so left out (apt-get install them as root): {' '.join(missing)}")
        return
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    subprocess.run(["apt-get", "update", "-q"], env=environment, check=False)
    for package in missing:
        done = subprocess.run(["apt-get", "install", "-qy", "--no-install-recommends", package],
                              env=environment, check=False)
        if done.returncode != 0:
            print(f"{package} cannot be installed; what needs it is left out")


def build():
    subprocess.run(["tools/build", "release"], cwd=ROOT, check=True)
    subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-DRONDO_COMPARE=ON"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", "compare_drivers"], check=True)


def plot(paths):
    """Draws beside the last file, with whichever Python has matplotlib; None where none has."""
    script = pathlib.Path(__file__).with_name("plot.py")
    for python in ("python3", "/usr/bin/python3"):
        probe = subprocess.run([python, "-c", "import matplotlib"], capture_output=True)
        if probe.returncode == 0:
            done = subprocess.run([python, script, *paths], capture_output=True, text=True)
            return done.stdout.split() if done.returncode == 0 else done.stderr.strip()
    return None
