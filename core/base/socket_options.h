// What all TCP connections between processes of a job have in common.
#pragma once

namespace rondo {

/// No delay; closed in programs that this process starts; and a path that has broken without a word
/// while nothing is under way is found after 25 s.
void set_socket_options(int descriptor);

/// The same while bytes are under way, for peers that always read: it counts against a peer that does
/// not read, too.
void end_where_unanswered(int descriptor);
/// The same for peers that may be busy for long: bytes are under way, and the peer's kernel has
/// acknowledged nothing for 28 s. A kernel whose program does not read acknowledges, too.
bool is_path_broken(int descriptor);

}  // namespace rondo
