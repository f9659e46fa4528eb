// Model of small.h: all-reduces by mailboxes, one writer for each.
//
//   rank r, call n                             rank o
//   writes packets, flag n    ------------->   box[phase 0][n mod 2][from r]: waits for flag n
//   one_shot: adds up all that come to it
//   two_shot: adds up its part, and
//   writes packets, flag n    ------------->   box[phase 1][n mod 2][from r]: waits for flag n
//
// A packet carries its flag beside its data, as a whole. Flags repeat after PERIOD calls. Long calls have
// two packets in each box, short ones have one: what long calls left in the other must not seem new. So
// ranks wipe their boxes of others each WIPE-th time they come to them.
//
// It shows, for any sequence of calls of all sizes and both kinds: what a rank takes for a packet of its
// call is one (assert in await()), packets are not overwritten before they are read (else the reader
// waits for ever, a deadlock), and every call ends.
//
// A step begins with a wait: a thread that writes later is no different from a slow one.
// N ranks of two threads, one for each packet of a box. CALLS in a row.
//
// check: holds      -DN=2 -DPERIOD=4 -DWIPE=1 -DCALLS=6
// check: holds      -DN=3 -DPERIOD=4 -DWIPE=1 -DCALLS=2
// check: assertion  -DN=2 -DPERIOD=4 -DWIPE=2 -DCALLS=6
// check: assertion  -DMUTANT=NEVER_WIPES
// check: deadlock   -DMUTANT=ONE_BOX
// check: assertion  -DMUTANT=ANY_FLAG
#ifndef PERIOD
#define PERIOD 4
#define WIPE 1
#define CALLS 6
#endif
#ifndef N
#define N 2
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
mtype = { NEVER_WIPES, ONE_BOX, ANY_FLAG }
#define box_of(call) (MUTANT == ONE_BOX -> 0 : (call) % 2)
#define wipe_due (call / 2 % WIPE == 0 && MUTANT != NEVER_WIPES)  // SmallRun::wipe()
// flag_of(), never 0
#define has_flag(value) (value != 0 && ((value - 1) % PERIOD == call % PERIOD || MUTANT == ANY_FLAG))
#define packet(owner, phase, from) (((((owner) * 2 + (phase)) * 2 + box_of(call)) * N + (from)) * 2 + i)
byte packets[N * 2 * 2 * N * 2];  // 1 + the call that wrote it, from which its flag follows; 0: wiped
byte ended[N * 2];                // calls of each thread
// Calls are equal on all ranks: the first thread to come to one chooses. Four at most are under way.
byte shapes[4], chosen;
#define is_long (shapes[call % 4] & 1)
#define is_two_shot (shapes[call % 4] & 2)

inline choose_call() {
  if
  :: call == chosen -> chosen++;
    if
    :: shapes[call % 4] = 0 :: shapes[call % 4] = 1 :: shapes[call % 4] = 2 :: shapes[call % 4] = 3
    fi
  :: else
  fi
}
inline wipe() {
  for (peer : 0 .. N - 1) {
    if
    :: wipe_due -> packets[packet(peer, 0, me)] = 0; packets[packet(peer, 1, me)] = 0
    :: else
    fi
  }
}
inline put(phase) {
  for (peer : 0 .. N - 1) {
    if :: peer != me -> packets[packet(peer, phase, me)] = call + 1 :: else fi
  }
}
inline await(phase) {
  for (peer : 0 .. N - 1) {
    if
    :: peer != me -> has_flag(packets[packet(me, phase, peer)]);
      assert(packets[packet(me, phase, peer)] == call + 1)
    :: else
    fi
  }
}

// SmallRun::run(): thread i of a rank has packet i.
proctype thread(byte me, i) {
  byte call, peer;
  for (call : 0 .. CALLS - 1) {
    atomic {
      ended[me * 2 + 1 - i] >= call;  // all threads of a team meet at the end of a call
      choose_call();
      wipe();
      if :: is_long || i == 0 -> put(0) :: else fi
    }
    if
    :: atomic { !is_long && i == 1 -> ended[me * 2 + i]++ }
    :: atomic { (is_long || i == 0) && !is_two_shot -> await(0); ended[me * 2 + i]++ }
    :: atomic { (is_long || i == 0) && is_two_shot -> await(0); put(1) }
      atomic { await(1); ended[me * 2 + i]++ }
    fi
  }
}

init {
  byte i;
  atomic {
    for (i : 0 .. N - 1) { run thread(i, 0); run thread(i, 1) }
  }
}
