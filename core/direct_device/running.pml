// Model of running.h: collectives between devices, with two halves for each rank.
//
//   flag            its `from` writes 1 when            its `to` waits for 1, writes 0, then
//   filled[half]    its half is filled                  reads that half
//   reduced[half]   its part of the half is reduced     reads that part
//   free[half]      it has read what it wanted there    fills its own half again
//
//   fill 0, fill 1, empty 0, fill 2, empty 1, ... in each rank's stream: Running::advance()
//
// It shows for any calls in a row, of the kinds below:
// - Nobody writes what a peer is reading, and a reader finds what it is to find (the asserts on memory).
// - No flag is written 1 twice in a row (the assert in tell()).
// - Every call ends, and then all flags are as they were at first. So a replay can repeat a call.
// - With fewer hardware queues than ranks (K < N) calls can hang: a rank that waits stands before what
//   it waits for. This is known: such ranks need a queue each (core/stream/README.md).
//
// A copy is two steps, its begin and its end. Waits come just before a step, and signals just after one:
// a rank that does them later is no different from a slow one.
// N ranks, K hardware queues, CALLS in a row, each of up to SLICES slices.
//
// check: holds      -DN=2 -DCALLS=2 -DSLICES=3
// check: holds      -DN=2 -DCALLS=3 -DSLICES=1
// check: holds      -DN=3 -DCALLS=2 -DSLICES=1
// check: holds      -DN=3 -DCALLS=1 -DSLICES=3
// check: holds      -DN=2 -DK=2 -DCALLS=1 -DSLICES=3
// check: deadlock   -DN=2 -DK=1
// check: deadlock   -DN=3 -DK=2 -DCALLS=1 -DSLICES=1
// check: assertion  -DMUTANT=FILLS_AT_ONCE
// check: assertion  -DMUTANT=FILLS_UNREAD
// check: assertion  -DMUTANT=GATHERS_AT_ONCE
// check: assertion  -DMUTANT=FREES_EARLY
#ifndef N
#define N 2
#endif
#ifndef CALLS
#define CALLS 2
#define SLICES 2
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
mtype = { FILLS_AT_ONCE, FILLS_UNREAD, GATHERS_AT_ONCE, FREES_EARLY }
// What calls do:
#define EXCHANGE 0   // all read all: all-gather, all-to-all, small all-reduce
#define TWO_STEPS 1  // all-reduce: parts are reduced, then all read them
#define FROM_ROOT 2  // broadcast
#define TO_ROOT 3    // reduce: the root's half is filled, too, and nobody reads it
byte kinds[CALLS], counts[CALLS];  // of slices
#define root (call % N)
#define reads(reader, source) (reader != source && (kind != FROM_ROOT || source == root) && \
                               (kind != TO_ROOT || reader == root))
#define fills (kind != FROM_ROOT || me == root)
#define waits_for(peer) (peer != me && fills && MUTANT != FILLS_AT_ONCE)
#define flag(half, from, to) (((half) * N + (from)) * N + (to))
bit filled[2 * N * N], reduced[2 * N * N], free_[2 * N * N];
// What lies in halves, in N parts. 0: it is being written. Else a number of what is there: of a slice,
// or of its reduced part.
byte memory[2 * N * N], ended;
#define place_of(half, rank, part) (((half) * N + (rank)) * N + (part))
#define number(slice) (2 * (slice) + 1)

inline tell(word) { assert(word == 0); word = 1 }
inline take(word) { word == 1 -> word = 0 }
inline put(value) { for (part : 0 .. N - 1) { memory[place_of(half, me, part)] = value } }
// What this rank reads of its sources' (Slice::pulls, reducing): one part where it reduces in two steps.
inline look() {
  for (peer : 0 .. N - 1) {
    for (part : 0 .. N - 1) {
      assert(!reads(me, peer) || (kind == TWO_STEPS && part != me) ||
             memory[place_of(half, peer, part)] == what)
    }
  }
}
inline look_at_reduced() {
  for (peer : 0 .. N - 1) { assert(peer == me || memory[place_of(half, peer, peer)] == what) }
}
inline free_sources(now) {
  for (peer : 0 .. N - 1) {
    if :: now && reads(me, peer) -> tell(free_[flag(half, me, peer)]) :: else fi
  }
}

// Running::fill(). Calls use the halves in turn, too: `first` is the number of the call's first slice.
inline fill_half(slice) {
  atomic {
    half = (first + slice) % 2;
    for (peer : 0 .. N - 1) {
      if
      :: waits_for(peer) && reads(peer, me) -> take(free_[flag(half, peer, me)])
      :: waits_for(peer) && !reads(peer, me) -> free_[flag(half, peer, me)] == 1 || MUTANT == FILLS_UNREAD
      :: else
      fi
    }
    if :: fills -> put(0) :: else fi
  }
  atomic {
    if :: fills -> put(number(first + slice)) :: else fi;
    for (peer : 0 .. N - 1) {
      if :: reads(peer, me) -> tell(filled[flag(half, me, peer)]) :: else fi
    }
  }
}

// Running::empty()
inline empty_half(slice) {
  atomic {
    half = (first + slice) % 2;
    what = number(first + slice);
    for (peer : 0 .. N - 1) {
      if :: reads(me, peer) -> take(filled[flag(half, peer, me)]) :: else fi
    }
    look();
    free_sources(MUTANT == FREES_EARLY)
  }
  if :: kind == TWO_STEPS -> reduce_part(slice) :: else fi;
  atomic {
    if :: kind == TWO_STEPS -> look_at_reduced() :: else -> look() fi;
    free_sources(MUTANT != FREES_EARLY)
  }
}
inline reduce_part(slice) {
  atomic {
    look();
    what = number(first + slice) + 1;
    memory[place_of(half, me, me)] = 0
  }
  atomic {
    memory[place_of(half, me, me)] = what;
    for (peer : 0 .. N - 1) { if :: peer != me -> tell(reduced[flag(half, me, peer)]) :: else fi }
  }
  atomic {
    for (peer : 0 .. N - 1) {
      if :: peer != me && MUTANT != GATHERS_AT_ONCE -> take(reduced[flag(half, peer, me)]) :: else fi
    }
    look_at_reduced()
  }
}

#ifdef K
chan queue[K] = [N * CALLS * SLICES] of { byte };
#define await_turn() queue[me % K] ? [eval(me)]  // what waits at the head blocks all that is behind
#define end_turn() queue[me % K] ? eval(me)
// The thread of a rank puts the pieces into the stream's queue.
proctype host(byte me) {
  byte call, done;
  for (call : 0 .. CALLS - 1) { for (done : 1 .. counts[call]) { queue[me % K] ! me } }
}
#else
#define await_turn() skip
#define end_turn() skip
#endif

// Running::advance(), again and again
proctype stream(byte me) {
  byte call, kind, count, first, half, what, peer, part, done;
  for (call : 0 .. CALLS - 1) {
    atomic { kind = kinds[call]; count = counts[call] }
    for (done : 0 .. count - 1) {
      await_turn();
      if :: done == 0 -> fill_half(0) :: else fi;
      if :: done + 1 < count -> fill_half(done + 1) :: else fi;
      empty_half(done);
      end_turn()
    }
    first = first + count
  }
  ended++
}

init {
  byte i, chosen;
  atomic {
    for (i : 0 .. 2 * N * N - 1) { free_[i] = 1 }
    for (i : 0 .. CALLS - 1) {
      select(chosen : EXCHANGE .. TO_ROOT);
      kinds[i] = chosen;
      select(chosen : 1 .. SLICES);
      counts[i] = chosen
    }
    for (i : 0 .. N - 1) {
      run stream(i);
#ifdef K
      run host(i)
#endif
    }
  }
  ended == N;
  for (i : 0 .. 2 * N * N - 1) { assert(free_[i] == 1 && filled[i] == 0 && reduced[i] == 0) }
}
