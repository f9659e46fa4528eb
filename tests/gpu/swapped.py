"""Whether a process's NCCL is rondo's, for ranks whose Python has no package rondo."""

import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def activation():
    """tools/python/rondo/activate.py by itself."""
    place = ROOT / "tools/python/rondo/activate.py"
    spec = importlib.util.spec_from_file_location("activate", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
