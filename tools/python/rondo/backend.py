"""The backend "rondo" of torch.distributed. torch calls register() at the end of its own import."""

from rondo import activate, launcher


def group_name(options):
    """The group's name in error messages: it lists the ranks in the job."""
    ranks = list(options.global_ranks_in_group) or range(options.group_size)
    shown = ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
    return f"process group {options.group_id or 'default'} (ranks {shown} of the job)"


def make(options, _backend_options):
    from rondo import _C
    return _C.make_backend(options.store, options.group_rank, options.group_size,
                           options.timeout, group_name(options))


def register():
    if activate.preloaded():
        activate.check()   # torch has loaded its libraries by now: is its NCCL rondo's?
    import torch.distributed as distributed
    if distributed.is_available() and not hasattr(distributed.Backend, "RONDO"):
        distributed.Backend.register_backend("rondo", make, extended_api=True, devices=["cpu"])
        distributed.register_rendezvous_handler("rondo", launcher.meet)
