// Model of meetings.h: ranks that reach each other's windows meet before and after they touch them. It has
// one stage. Meetings between stages are the same.
//
//   rank r, call n                         every other rank
//   writes its input
//   meets: counts, tells its count  --->   words[of r]: waits until the count has come so far
//   reads all inputs, stores to all outputs
//   meets
//   reads its output, writes its next input
//
// It shows, for calls in a row: a rank reads the inputs of this call, not of one before or after it; what
// lies in its output after the call is of this call; and all calls end. Counts only grow, and are told to
// peers one by one.
//
// check: holds      -DN=2 -DCALLS=3
// check: holds      -DN=3 -DCALLS=2
// check: assertion  -DMUTANT=NO_BEGINNING
// check: assertion  -DMUTANT=NO_END
// check: assertion  -DMUTANT=ONE_PEER
// check: assertion  -DMUTANT=ONE_FLAG
#ifndef N
#define N 3
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
mtype = { NO_BEGINNING, NO_END, ONE_PEER, ONE_FLAG }

byte words[N * N];    // meeting_of(): by owner, then by who tells
byte inputs[N];       // the call of whose data they are
byte outputs[N * N];  // by owner, then by who stored there
#define told(owner, from) words[(owner) * N + (from)]
// A flag that is set once would not tell one meeting from the next.
#define has_come(from) (MUTANT == ONE_FLAG -> told(_pid, from) != 0 : told(_pid, from) >= count)
#define is_awaited(from) (from != _pid && (MUTANT != ONE_PEER || from == (_pid + 1) % N))

inline meet() {
  count++;
  for (peer : 0 .. N - 1) {
    if
    :: peer != _pid -> told(peer, _pid) = count
    :: else
    fi
  }
  for (peer : 0 .. N - 1) {
    if
    :: is_awaited(peer) -> has_come(peer)
    :: else
    fi
  }
}

active [N] proctype rank() {
  byte call, peer, count;
  for (call : 1 .. CALLS) {
    inputs[_pid] = call;
    if
    :: MUTANT != NO_BEGINNING -> meet()
    :: else
    fi
    for (peer : 0 .. N - 1) {
      assert(inputs[peer] == call);
      outputs[peer * N + _pid] = call
    }
    if
    :: MUTANT != NO_END -> meet()
    :: else
    fi
    for (peer : 0 .. N - 1) {
      assert(outputs[_pid * N + peer] == call)
    }
  }
}
