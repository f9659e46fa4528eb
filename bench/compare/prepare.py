"""Installs the peers' packages when root, and builds the drivers."""
import os
import subprocess

from record import ROOT, command_output

BUILD = ROOT / "build" / "release"
PACKAGES = ["openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev", "libgloo-dev"]


def installed(package):
    return "ok installed" in command_output("dpkg-query", "-W", "-f=${Status}", package)


def install_peers():
    """Without root it only names the missing packages: the comparison goes on without them."""
    missing = [package for package in PACKAGES if not installed(package)]
    if not missing:
        return
    if os.geteuid() != 0:
        print(f"not installed and left out (as root: apt-get install {' '.join(missing)})")
        return
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    subprocess.run(["apt-get", "update", "-q"], env=environment, check=False)
    for package in missing:
        done = subprocess.run(["apt-get", "install", "-qy", "--no-install-recommends", package],
                              env=environment, check=False)
        if done.returncode != 0:
            print(f"{package} cannot be installed; the comparisons that need it are left out")


def build():
    subprocess.run(["tools/build", "release"], cwd=ROOT, check=True)
    subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-DRONDO_COMPARE=ON"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", "compare_drivers"], check=True)
