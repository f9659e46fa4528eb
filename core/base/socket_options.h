// What all TCP connections between processes of a job have in common.
#pragma once

namespace rondo {

/// No delay; closed in programs that this process starts; and a path that has broken without a word
/// is found after 25 s, whether data is under way on it or not.
void set_socket_options(int descriptor);

}  // namespace rondo
