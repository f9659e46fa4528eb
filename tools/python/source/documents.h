// The texts of Python's help().
#pragma once

namespace rondo_python::documents {

inline constexpr const char* communicator =
    R"(A group of ranks, made by rondo.from_environment(), rondo.from_unique_id(),
rondo.from_threads() or split().

Every rank makes the same calls in the same order, with the same sizes, types, operators and roots.
Where ranks disagree, every rank gets a rondo.Error.

Arrays are numpy's, torch's on the CPU, or any contiguous object with the buffer protocol or
__dlpack__. Calls run without Python's lock. One thread at a time uses a communicator; only abort()
and set_timeout() may be called by any thread.

Used in a `with` block, it is finalized at the end of the block. An exception that leaves the block
aborts it on every rank.)";
inline constexpr const char* all_reduce =
    R"(output[i] = op over ranks of input[i], on every rank. Returns output.

op: "sum", "prod", "min", "max" or "avg"; for integers also "bit_and", "bit_or" or "bit_xor".
Booleans have "max", "min" and the bit operators; complex numbers have "sum" and "avg".
output None: in place.
accumulate: "float32" for narrower floats, or "float64" for float32. The contributions are added in
that type, and the result is rounded once.
reproducible: the bits of a float result depend only on values, number of ranks, type and op, and
not on size, algorithm or machine.)";
inline constexpr const char* all_reduce_quantized =
    R"(array[i] = the sum over ranks of array[i], sent with 8 bits a value. In place. Returns array.

The array is float32. Sums are about 0.9 % off, and the same on every rank. A value that is not finite
makes 128 of them NaN.
left_out: an array like it, 0 at first. It is added before, and becomes what rounding left out. So
what one call loses, later ones make good.)";
inline constexpr const char* reduce_scatter =
    R"(Reduces `size` blocks and leaves this rank's in output. Returns output.

input has `size` times the elements of output. op, accumulate, reproducible: as all_reduce().)";
inline constexpr const char* all_gather =
    R"(output = every rank's input, in rank order. Returns output.

output has `size` times the elements of input.)";
inline constexpr const char* broadcast =
    "The root's array, into every rank's array. Returns the array.";
inline constexpr const char* reduce =
    R"(output[i] = op over ranks of input[i], on the root only. Returns output.

output None: in place. On other ranks output is ignored. op, accumulate, reproducible: as
all_reduce().)";
inline constexpr const char* scan =
    R"(output[i] = op over input[i] of the ranks 0 to this one. Returns output.

op: one of all_reduce()'s, except "avg". output None: in place. accumulate, reproducible: as all_reduce().)";
inline constexpr const char* exclusive_scan =
    R"(As scan(), but over the ranks below this one. Rank 0's output is not touched.)";
inline constexpr const char* window =
    R"(One-sided calls: memory of each rank that its peers write and read, without a call of its own.

Window(communicator, array) is collective. Each rank gives an array of its own, of any size, in which
others put and from which they get. Arrays of rondo.empty() are reached directly by ranks of the same
machine. Close it, or use it in a `with` block: a window that is dropped ends its peers' calls.)";
inline constexpr const char* put =
    R"(Copies array into a peer's block, from element `first` on. Returns when array may change again.

signal: gives the peer that signal once the bytes have arrived.)";
inline constexpr const char* get =
    R"(Fills array from a peer's block, from element `first` on. Returns array.)";
inline constexpr const char* signal =
    R"(Tells a peer that all earlier puts of this rank to it have arrived. Signals have numbers 0 to 255.)";
inline constexpr const char* wait_signal =
    R"(Waits until `count` signals have come that no wait has taken, and takes them.)";
inline constexpr const char* flush =
    R"(Returns when all earlier puts of this rank have arrived, at one peer or at all.)";
inline constexpr const char* close = R"(Collective: fence(), and the end of the window.)";
inline constexpr const char* all_to_all =
    R"(Block j of input goes to rank j; block j of output comes from rank j. Returns output.

Both have the same number of elements, a multiple of `size`; not in place.)";
inline constexpr const char* scatter =
    R"(Block j of the root's input goes to rank j's output. Returns output.

On other ranks input is ignored and may be None.)";
inline constexpr const char* gather =
    R"(Every rank's input goes to the root's output, in rank order. Returns output.

On other ranks output is ignored and may be None.)";
inline constexpr const char* all_gather_v =
    R"(output = every rank's input, in rank order; rank r's has counts[r] elements. Returns output.

counts is the same list on every rank.)";
inline constexpr const char* reduce_scatter_v =
    R"(Reduces blocks of counts[r] elements and leaves this rank's in output. Returns output.

counts is the same list on every rank.)";
inline constexpr const char* scatter_v =
    R"(Block r of the root's input, counts[r] elements, goes to rank r's output. Returns output.

On other ranks input is ignored and may be None. counts is the same list on every rank.)";
inline constexpr const char* gather_v =
    R"(Every rank's input, of counts[r] elements, goes to the root's output. Returns output.

On other ranks output is ignored and may be None. counts is the same list on every rank.)";
inline constexpr const char* all_to_all_v =
    R"(sent[r] elements of input go to rank r; received[r] of output come from it. Returns output.

Blocks lie in rank order. Each rank passes its own lists. Not in place.)";
inline constexpr const char* barrier = "Returns after every rank has entered.";
inline constexpr const char* send =
    R"(Sends the array to rank `peer`, which must recv() as many elements of the same type.

Messages between two ranks match in the order of the calls. In a rondo.group() sends and receives
run together.)";
inline constexpr const char* recv =
    "Fills the array with what rank `peer` sends. Returns the array.";
inline constexpr const char* split =
    R"(Ranks with equal colors form a new communicator, ordered by (key, rank). Collective.

A rank with a negative color gets None.)";
inline constexpr const char* dup =
    "A new communicator of the same ranks, with channels of its own. Collective.";
inline constexpr const char* revoke = "The same as abort(): all ranks come to agree() or shrink().";
inline constexpr const char* agree =
    R"(Collective over the ranks that live, also after a failure. Returns (flags, lost).

flags: the bitwise and of what the ranks passed. lost: the ranks that died, left or did not come
within the timeout. Both are the same on all ranks.)";
inline constexpr const char* shrink =
    R"(Collective over the ranks that live, also after a failure. A communicator of them.

They keep their order. Where it cannot be made, all of them get the same error.)";
inline constexpr const char* grow =
    R"(Collective. A communicator of `size` ranks: these, which keep their numbers, and new ones.

The new ranks call rondo.from_unique_id(id, rank, size) with the numbers behind these. One rank
passes the id.)";
inline constexpr const char* abort =
    R"(Ends the communicator on every rank: calls in flight raise an error.

Any thread may call it.)";
inline constexpr const char* set_timeout =
    R"(Sets how many seconds a peer may stay silent inside a call before this rank gives up.

It holds from now on, also in calls under way and in communicators split from this one later. The
first value is the timeout that the communicator was made with, or RONDO_TIMEOUT. Any thread may
call it.)";
inline constexpr const char* finalize =
    R"(Waits for this rank's outstanding work, leaves the communicator and frees everything.)";
inline constexpr const char* describe =
    R"(One line that says which algorithm and transport a call would use here, and why.)";
inline constexpr const char* traffic =
    R"(What this rank has sent so far, as a dict: messages, frames, payload_bytes, header_bytes and
direct_bytes (see rondo/traffic.h).)";
inline constexpr const char* from_environment =
    R"(The communicator of a job that rondorun, torchrun, srun or mpirun started.

Without a launcher it has one rank.

These arguments win over the environment's RONDO_ settings:
  transport      "shm", "tcp,shm", "^shm"
  algorithm      "ring", "all_reduce:ring;broadcast:chain"
  timeout        seconds
  reproducible   True, False
  accumulate     "wide", "type"
  checksum       True, False
  schedules      a file or folder of schedules of your own, which rank 0 reads)";
inline constexpr const char* verify_schedule =
    R"(Raises rondo.Error with what is wrong in the text of a schedule for one number of ranks.)";
inline constexpr const char* from_unique_id =
    R"(The communicator of `size` ranks that all pass the same id.

One process calls make_unique_id(); your program carries the id to the others. The further arguments
are those of from_environment().)";
inline constexpr const char* from_threads =
    R"(A list of `size` communicators, the ranks of one group inside this process: one a thread.)";
inline constexpr const char* make_unique_id =
    R"(Starts a bootstrap in this process and returns its id, 128 bytes, for from_unique_id().

The process serves the bootstrap until it ends.)";
inline constexpr const char* work =
    "An asynchronous call. Dropping this object does not cancel the call; its arrays stay alive.";
inline constexpr const char* wait =
    R"(Waits until the call is complete. Returns its result, or raises its error.)";
inline constexpr const char* test =
    "Makes progress. Returns whether the call is complete, or raises its error.";
inline constexpr const char* group =
    R"(with rondo.group(): the calls in the block are issued together and complete at its end.

In a group a send and a receive cannot wait for each other. Groups nest: the outermost one waits. An
exception in the block aborts the communicators whose calls are not complete.)";
inline constexpr const char* memory =
    R"(Memory from rondo.allocate(), for numpy.frombuffer(memory, dtype) and
torch.frombuffer(memory, dtype=...). It lives as long as an array on it does.)";
inline constexpr const char* allocate =
    R"(`bytes` of zeroed memory that the other ranks of this machine reach directly.

Calls whose arrays lie in such memory on every rank make the fewest copies.)";
inline constexpr const char* error = R"(What went wrong, where, and what to do.

Attributes:
  code      "mismatch", "peer_lost", "timeout", "aborted", "invalid_argument", ...
  message   what went wrong
  rank      the rank that reports
  peer      the rank that it is about, or -1
  call      the call in which it happened
  remedy    what to do)";

}  // namespace rondo_python::documents
