// Model of one_sided.h: puts with signals from rank 0 into a window of rank 1, which answers by a signal.
//
//   writer's stream   two puts: each copies, then counts a signal; waits for the answer
//   reader's stream   waits for two signals; looks at the window; counts its answer
//   reader's watcher  after a failure writes to the counter what the stream waits for: Watcher::answer()
//
// It shows:
// - Who has waited for a signal sees the bytes of its put, and no later ones.
// - Counters may wrap. Here they have three bits, and begin shortly before.
// - If the writer fails or dies at any step, the reader's stream ends (no deadlock). A stream that goes on
//   after its rank has failed still counts. That may take a counter back to less than what the watcher
//   wrote, so the watcher must write again and again.
//
// CALLS of each, up to FAULTS failures.
//
// check: holds      -DCALLS=4
// check: holds      -DCALLS=3 -DFAULTS=1
// check: assertion  -DMUTANT=SIGNALS_FIRST
// check: assertion  -DMUTANT=WAITS_FOR_ONE
// check: assertion  -DMUTANT=ANSWERS_EARLY
// check: assertion  -DMUTANT=COMPARES_PLAINLY
// check: deadlock   -DMUTANT=ANSWERS_ONCE -DFAULTS=1
#ifndef CALLS
#define CALLS 3
#endif
#ifndef FAULTS
#define FAULTS 0
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
mtype = { SIGNALS_FIRST, WAITS_FOR_ONE, ANSWERS_EARLY, COMPARES_PLAINLY, ANSWERS_ONCE }
#define wrapped(count) ((count) & 7)
#define first 5
byte given = first, answered = first;  // counters: of rank 0's signals, and of rank 1's
byte wanted = first;                   // what rank 1's stream waits for now, or will have waited for
byte window[2];
byte faults;
bit ended;

// As the driver compares: by the sign of the difference.
#define reached(counter, count) (MUTANT == COMPARES_PLAINLY \
    -> counter >= wrapped(count) : wrapped(counter - (count)) < 4)
#define or_fails :: atomic { faults < FAULTS -> faults++; if :: true -> goto stopped :: true fi }

active proctype writer() {
  byte call, put, count = first;
  for (call : 1 .. CALLS) {
    for (put : 0 .. 1) {
      count = wrapped(count + 1);
      given = (MUTANT == SIGNALS_FIRST -> count : given);
      if :: window[put] = call or_fails fi;
      if :: given = count or_fails fi
    }
    reached(answered, first + call)
  }
stopped:
  skip
}

active proctype reader() {
  byte call;
  for (call : 1 .. CALLS) {
    wanted = wrapped(first + 2 * call - (MUTANT == WAITS_FOR_ONE -> 1 : 0));
    answered = (MUTANT == ANSWERS_EARLY -> wrapped(first + call) : answered);
    reached(given, wanted);
    assert(faults > 0 || (window[0] == call && window[1] == call));
    answered = wrapped(first + call)
  }
  ended = 1
}

#define may_answer (faults > 0 && !(once && MUTANT == ANSWERS_ONCE))
active proctype watcher() {
  bit once;
  do
  :: atomic { may_answer && !ended && given != wanted -> given = wanted; once = 1 }
  :: ended -> break
  od
}
