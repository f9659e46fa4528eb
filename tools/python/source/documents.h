// What Python's help() says.
#pragma once

namespace rondo_python::documents {

inline constexpr const char* communicator =
    R"(A group of ranks, made by rondo.from_environment(), rondo.from_unique_id(),
rondo.from_threads() or split().

Every rank makes the same calls in the same order with the same sizes, types, operators and roots;
disagreement is a rondo.Error on every rank. One thread uses a communicator at a time, except for
abort(). Arrays are numpy's, torch's on the CPU, or any object with the buffer protocol or
__dlpack__, contiguous. Calls run without Python's lock. As a context manager it is finalized at the
end, or aborted on every rank where an exception leaves the block.)";
inline constexpr const char* all_reduce =
    R"(output[i] = op over ranks of input[i], on every rank. Returns output.

op is "sum", "prod", "min", "max" or "avg"; of integers and booleans also "bit_and", "bit_or" or
"bit_xor". output None: in place. reproducible: the bits of floats depend on values, number of ranks,
type and op only, on no size, algorithm or machine. accumulate: "float32" for narrower floats,
"float64" for float32: contributions are added in that type and rounded once.)";
inline constexpr const char* reduce_scatter =
    R"(Reduces `size` blocks and leaves this rank's in output. Returns output.

input has `size` times the elements of output. op, accumulate, reproducible: as all_reduce().)";
inline constexpr const char* all_gather =
    R"(output = every rank's input, in rank order. Returns output.

output has `size` times the elements of input.)";
inline constexpr const char* broadcast =
    "The root's array, into every rank's array. Returns the array.";
inline constexpr const char* reduce =
    R"(output on the root only = op over ranks of input. Returns output.

output None: in place. Elsewhere output is not looked at. op, accumulate, reproducible: as
all_reduce().)";
inline constexpr const char* all_to_all =
    R"(Block j of input goes to rank j; block j of output comes from rank j. Returns output.

Both have the same number of elements, a multiple of `size`; not in place.)";
inline constexpr const char* scatter =
    R"(Block j of the root's input goes to rank j's output. Returns output.

Elsewhere input is not looked at and may be None.)";
inline constexpr const char* gather =
    R"(Every rank's input goes to the root's output, in rank order. Returns output.

Elsewhere output is not looked at and may be None.)";
inline constexpr const char* all_gather_v =
    R"(output = every rank's input, in rank order; rank r's has counts[r] elements. Returns output.

counts is the same list on every rank.)";
inline constexpr const char* reduce_scatter_v =
    R"(Reduces blocks of counts[r] elements and leaves this rank's in output. Returns output.

counts is the same list on every rank.)";
inline constexpr const char* scatter_v =
    R"(Block r of the root's input, counts[r] elements, goes to rank r's output. Returns output.

Elsewhere input is not looked at and may be None. counts is the same list on every rank.)";
inline constexpr const char* gather_v =
    R"(Every rank's input, counts[r] elements of rank r, goes to the root's output. Returns output.

Elsewhere output is not looked at and may be None. counts is the same list on every rank.)";
inline constexpr const char* all_to_all_v =
    R"(sent[r] elements of input go to rank r; received[r] of output come from it. Returns output.

Blocks lie in rank order. Every rank has lists of its own; not in place.)";
inline constexpr const char* barrier = "Returns after every rank has entered.";
inline constexpr const char* send =
    R"(Sends the array to rank `peer`, which must recv() as many elements of that type.

Messages between two ranks match in the order of their calls. In a rondo.group() sends and
receives run together.)";
inline constexpr const char* recv =
    "Fills the array with what rank `peer` sends. Returns the array.";
inline constexpr const char* split =
    R"(Ranks of equal color form a new communicator, ordered by (key, rank). Collective.

A negative color returns None.)";
inline constexpr const char* dup = "The same ranks with channels of their own. Collective.";
inline constexpr const char* abort =
    R"(Stops this communicator on every rank: calls in flight end with an error. Any thread.)";
inline constexpr const char* set_timeout =
    R"(The longest silence of a peer inside a call, in seconds, that this rank waits out from now on:
in calls under way, too, and in communicators split from this one later. At first the timeout that
the communicator was made with, or RONDO_TIMEOUT. Any thread.)";
inline constexpr const char* finalize =
    R"(Waits for this rank's outstanding work, says goodbye and frees everything.)";
inline constexpr const char* describe =
    R"(Which algorithm and transport a call would use here, and why, in a line of words.)";
inline constexpr const char* traffic =
    R"(What this rank has sent so far: a dict of messages, frames, payload_bytes,
header_bytes and direct_bytes (see rondo/traffic.h).)";
inline constexpr const char* from_environment =
    R"(The communicator of a job that rondorun, torchrun, srun or mpirun started;
alone where none did.

transport ("shm", "tcp,shm", "^shm"), algorithm ("ring", "all_reduce:ring;broadcast:chain") and
timeout (seconds), reproducible (True, False) and accumulate ("wide", "type") win over the
environment's RONDO_ settings.)";
inline constexpr const char* from_unique_id =
    R"(The communicator of `size` ranks that all pass the same id.

The id is what make_unique_id() returned in one process, carried to the others by you.)";
inline constexpr const char* from_threads =
    R"(`size` communicators of one world inside this process, one for each thread to use.)";
inline constexpr const char* make_unique_id =
    R"(Starts a meeting in this process and returns its name, 128 bytes, for from_unique_id().

The process serves the meeting until it ends.)";
inline constexpr const char* work =
    "Asynchronous work. Dropping it does not cancel; its arrays stay alive.";
inline constexpr const char* wait =
    R"(Returns the call's result when it is complete. Raises the work's error.)";
inline constexpr const char* test =
    "Whether the work is complete; makes progress. Raises its error.";
inline constexpr const char* group =
    R"(with rondo.group(): the calls in the block are issued together and complete at its end.

So that a send and a receive cannot wait for each other. Groups nest: the outermost one waits. An
exception in the block aborts the communicators whose calls are not complete.)";
inline constexpr const char* memory =
    R"(Memory of rondo.allocate(), with the buffer protocol: numpy.frombuffer(memory, dtype),
torch.frombuffer(memory, dtype=...). It lives as long as an array on it does.)";
inline constexpr const char* allocate =
    R"(`bytes` of zeroed memory that the other ranks of this machine reach directly: calls whose
arrays lie in it on every rank move the fewest bytes.)";
inline constexpr const char* error = R"(What went wrong, where, and what to do.

Attributes: code ("mismatch", "peer_lost", "timeout", "aborted", "invalid_argument", ...), message,
rank (that reports), peer (that it is about, or -1), call and remedy.)";

}  // namespace rondo_python::documents
