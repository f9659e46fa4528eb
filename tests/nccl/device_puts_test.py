#!/usr/bin/env python3
"""Processes of which not all have a GPU driver, and their windows.

LIBNCCL_PATH and LIBCUDA_PATH name the libraries; without the latter the machine's own driver is
taken. client.start_ranks() starts this script for each rank.
"""

import ctypes

import client
import device_processes_test as processes


class Rank(processes.Rank):
    def beside_no_driver(self):
        """Rank 0 alone has a driver: a window is made at once, and a signal says why there is none."""
        window = ctypes.c_void_p()
        self.library.call("ncclCommWindowRegister", self.comm, ctypes.create_string_buffer(100),
                          ctypes.c_size_t(100), ctypes.byref(window), processes.SYMMETRIC)
        result = self.library.result("ncclSignal", 0, 0, 0, 0, self.comm, self.stream)
        print(result, self.library.last_error(), flush=True)
        self.check("a sum on the host", self.library.sum(self.comm, [1.0]), (client.SUCCESS, [2.0]))
        self.deregister(window)
        self.library.call("ncclCommDestroy", self.comm)


class Processes(processes.Job):
    script = __file__

    def test_all_ranks_know_that_some_have_no_driver(self):
        said = self.run_ranks("beside_no_driver", 2, DEVICES="first", RONDO_BOOTSTRAP_TIMEOUT="20")
        self.check_all(said, "4 ncclSignal: rondo: rank")
        self.check_all(said, "rank 0 has a GPU driver, and rank 1 has none")


if __name__ == "__main__":
    processes.main(Rank)
