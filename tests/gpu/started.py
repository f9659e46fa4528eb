"""How the tests of tests/gpu/run take it: as a module, and as people start it."""

import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else FOLDER.parents[1] / "build/check"
STAND_IN = BUILD / "lib/fake_driver"
sys.dont_write_bytecode = True

from steps.place import Place  # noqa: E402

LIMIT = 800  # seconds until a run counts as hung: the machine may be busy
FORMS = ("one_stream", "one_thread", "threads", "processes")


def loaded(path):
    loader = importlib.machinery.SourceFileLoader("gpu_run", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_run", loader))
    loader.exec_module(module)
    return module


run = loaded(FOLDER / "run")


def built(*names):
    return all(Place(BUILD).program(name) for name in names)


def started(*words, **environment):
    """The exit status and the output of the script."""
    done = subprocess.run([sys.executable, FOLDER / "run", *map(str, words)], text=True, timeout=LIMIT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **environment))
    return done.returncode, done.stdout
