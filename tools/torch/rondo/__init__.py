"""rondo for PyTorch: torch.distributed's backend "rondo" for tensors in the CPU's memory.

    torch.distributed.init_process_group("rondo")

needs no import of this package: torch finds it by its entry point.
"""


def version():
    """The version of the rondo library inside."""
    import torch  # noqa: F401  (its libraries, before ours)
    from rondo import _C
    return _C.version()
