"""The wheel of tools/wheel beside PyTorch: ranks that torchrun starts add up a tensor.

The environment that pip installs it into sees this Python's packages behind its own.
"""

import os
import pathlib
import subprocess
import sys
import sysconfig

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PLACE = REPOSITORY / "build/wheel/torch"
WHEELS = REPOSITORY / "build/wheel/for-torch"
LIBRONDO = os.environ.get("LIBRONDO", str(REPOSITORY / "build/check/lib"))
LINE = """
import pathlib, sys, torch, rondo
assert pathlib.Path(rondo.__file__).is_relative_to(sys.prefix), rondo.__file__
with rondo.from_environment() as world:
    tensor = torch.full((1000,), world.rank + 1.0)
    world.all_reduce(tensor)
    assert world.size == 2 and (tensor == 3).all()
    sys.stdout.write(f"rank {world.rank} of {world.size} has the sum\\n")   # at once: both write
"""


def run(*command, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    return subprocess.run(list(map(str, command)), cwd=REPOSITORY, check=True, text=True, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout


def make_environment():
    """Its Python."""
    run("rm", "-rf", PLACE, WHEELS)
    run("tools/wheel", WHEELS, PYTHON=os.path.realpath(sys.executable), LIBRONDO=LIBRONDO)
    run(os.path.realpath(sys.executable), "-m", "venv", PLACE)
    python = PLACE / "bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", *WHEELS.glob("*.whl"))
    packages = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    pathlib.Path(packages, "behind.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def main():
    said = run(make_environment(), "-m", "torch.distributed.run", "--nproc-per-node", 2, "--no-python",
               PLACE / "bin/python", "-c", LINE)
    print(said)
    for rank in (0, 1):
        assert f"rank {rank} of 2 has the sum\n" in said, said


if __name__ == "__main__":
    main()
