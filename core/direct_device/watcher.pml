// Model of watcher.h: how calls end, and memory goes, when a rank fails, dies, or nothing happens.
//
//   stream    its calls, each with filled and free as in running.pml, here of one slice
//             -> stops at any step where the driver refuses (DeviceCalls::give_up()) or the process dies
//   watcher   hears of a failure at any later time (control plane)
//             -> writes 1 to every flag that its stream may wait for, again and again: answer()
//             when the stream has ended: close(), then waits until the others have closed or died:
//             is_read(), then frees
//
// It shows, whichever rank fails at whichever step:
// - All streams of living ranks end (no deadlock).
// - As long as nothing has failed, reads find what they are to find. Afterwards they find anything.
// - No stream reads memory that its owner has freed.
//
// The last one is promised for 5 s after a failure only. A watcher that does not wait longer (EXPIRES)
// frees what a rank still reads that has not heard of the failure by then.
//
// Found by this model: REFUSED. If a call counted although the driver refused its wait for the one before,
// it would count as complete while that one is in its stream. Then the watcher may end too early, and
// peers free what the stream reads. So DeviceCalls::enter() asks for the wait first.
//
// N ranks, CALLS in a row, up to FAULTS ranks that fail or die.
//
// check: holds      -DN=2 -DCALLS=2 -DFAULTS=2
// check: holds      -DN=3 -DCALLS=1
// check: assertion  -DEXPIRES=1
// check: assertion  -DREFUSED
// check: deadlock   -DMUTANT=ANSWERS_ONCE
// check: deadlock   -DMUTANT=WAITS_FOR_THE_DEAD
// check: assertion  -DMUTANT=CLOSES_EARLY
// check: assertion  -DMUTANT=FREES_AT_ONCE
#ifndef N
#define N 2
#endif
#ifndef CALLS
#define CALLS 3
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef EXPIRES
#define EXPIRES 0
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
mtype = { ANSWERS_ONCE, WAITS_FOR_THE_DEAD, CLOSES_EARLY, FREES_AT_ONCE }
// A rank's flags that it waits for itself: a bit for each kind (0 filled, 1 free), half and peer.
#define of_peer(kind, half, peer) (1 << (((kind) * 2 + (half)) * N + (peer)))
#define of_peers(kind, half) (((1 << N) - 1 - (1 << me)) << (((kind) * 2 + (half)) * N))
#define all ((1 << 4 * N) - 1)
short flags[N];
byte half_holds[2 * N];  // 1 + the call; 0: it is being written
byte faults, peer;       // `peer` is of loops within one step
bit ended[N], dead[N], closed[N], freed[N];

inline tell(kind) {
  for (peer : 0 .. N - 1) {
    assert(faults > 0 || peer == me || !(flags[peer] & of_peer(kind, half, me)));
    flags[peer] = flags[peer] | of_peer(kind, half, me)
  }
  peer = 0
}
inline take(kind) {
  (flags[me] & of_peers(kind, half)) == of_peers(kind, half);
  flags[me] = flags[me] & ~of_peers(kind, half)
}
inline look() {
  for (peer : 0 .. N - 1) {
    assert(peer == me || !freed[peer]);
    assert(peer == me || faults > 0 || half_holds[2 * peer + half] == call + 1)
  }
  peer = 0
}
#define or_stops \
  :: atomic { faults < FAULTS -> faults++; if :: true :: dead[me] = 1 fi; goto stopped }

// Running::fill() and empty()
proctype stream(byte me) {
  byte call, half;
  for (call : 0 .. CALLS - 1) {
    half = call % 2;
    if :: atomic { take(1); half_holds[2 * me + half] = 0 } or_stops fi;
    if :: atomic { half_holds[2 * me + half] = call + 1; tell(0) } or_stops fi;
    if :: atomic { take(0); look() } or_stops fi;
    if :: atomic { look(); tell(1) } or_stops fi
  }
stopped:
  ended[me] = 1
}

#ifdef REFUSED
// The thread that makes rank 0's calls has put another one into another stream.
bit counts_as_ended;
active proctype refused_call() { atomic { faults++; counts_as_ended = 1 } }
#else
#define counts_as_ended 0
#endif
#define is_complete (ended[me] || (me == 0 && counts_as_ended) || (MUTANT == CLOSES_EARLY && faults > 0))
#define may_answer (faults > 0 && !(answered && MUTANT == ANSWERS_ONCE))
#define has_let_go (closed[other] || other == me || (dead[other] && MUTANT != WAITS_FOR_THE_DEAD) || \
                    (EXPIRES && faults > 0) || MUTANT == FREES_AT_ONCE)

// Watcher::work(), then give_memory_back(). An answer that changes nothing is none here, so that a
// stream that waits in vain is a deadlock.
proctype watcher(byte me) {
  byte other;
  bit answered;
  do
  :: atomic { may_answer && !is_complete && flags[me] != all -> flags[me] = all; answered = 1 }
  :: is_complete -> break
  od;
  if
  :: dead[me]
  :: else ->
    closed[me] = 1;
    for (other : 0 .. N - 1) { has_let_go }
    freed[me] = 1
  fi
}

init {
  byte i;
  atomic {
    for (i : 0 .. N - 1) {  // nothing is filled, all is free
      flags[i] = all - ((1 << 2 * N) - 1) | (1 << i) | (1 << N + i);
      run stream(i);
      run watcher(i)
    }
  }
}
