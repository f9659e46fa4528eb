// Model of messages.h: groups of sends and receives, each stream in a hardware queue.
//
//   flag                its `from` writes 1 when       its `to` waits for 1, writes 0, then
//   sent[slot]          its slot holds a slice         copies the slice out of the slot
//   taken[slot]         it has copied the slice out    copies its next slice into the slot
//
// A hardware queue does one thing after the other, whatever streams they are of. What waits at its
// head blocks all that is behind. A rank's streams 0 (the group's), 1, 2, ... lie in queues 0, 1, ... of
// K, in turn. Each rank has its own queues, as processes have.
//
// Rank 0 groups all its messages; with GROUPS every rank does. Other ranks make theirs one at a time, in
// any order that cannot hang with a queue for each stream: there is one order of all messages, and
// each rank keeps to it. A host may put all into queues before they begin: it is the worst case.
//
// It shows: a slot is not written before it is read (asserts on it), no flag is written 1 twice in a
// row (asserts on flags), all messages end, and then flags are as at first. And how many queues that
// takes:
// - Messages that fit their slots need one queue, and so do equal groups of all ranks.
// - Else a rank needs a queue for each stream of its group's messages. One fewer can hang. This is
//   known: with CUDA_DEVICE_MAX_CONNECTIONS=1 a group of a long send and a long recv hangs if its peer
//   makes the two calls one after the other. Messages of 4 slices pass.
//
// N ranks, K queues of each, SLOTS of each pair and direction, PIECES (slices) of each message. A piece of
// two slots, as long messages have, is one of the two SLOTS here.
// 2 ranks have at most 2 such streams, 3 ranks at most 4.
//
// check: holds      -DN=2 -DK=1 -DSLOTS=4 -DPIECES=4
// check: deadlock   -DN=2 -DK=1 -DSLOTS=4 -DPIECES=6
// check: holds      -DN=2 -DK=2 -DSLOTS=4 -DPIECES=6
// check: holds      -DN=2 -DK=1 -DSLOTS=4 -DPIECES=6 -DGROUPS
// check: holds      -DN=2 -DK=1 -DSLOTS=2 -DPIECES=6 -DGROUPS
// check: holds      -DN=3 -DK=1 -DSLOTS=1 -DPIECES=1
// check: deadlock   -DN=3 -DK=3 -DSLOTS=1 -DPIECES=2
// check: holds      -DN=3 -DK=4 -DSLOTS=1 -DPIECES=2
// check: holds      -DN=3 -DK=1 -DSLOTS=1 -DPIECES=2 -DGROUPS
// check: assertion  -DN=2 -DMUTANT=OVERWRITES
// check: assertion  -DN=2 -DMUTANT=READS_AT_ONCE
// check: deadlock   -DN=2 -DMUTANT=FORGETS_TAKEN
#ifndef K
#define K 2
#endif
#ifndef SLOTS
#define SLOTS 2
#define PIECES 3
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
mtype = { OVERWRITES, READS_AT_ONCE, FORGETS_TAKEN }
#define KINDS (2 * N)  // of a rank: 2 * peer for its sends to the peer, one more for its receives
#define message(from, to) ((from) * N + (to))
#define flag(from, to, piece) (message(from, to) * SLOTS + (piece) % SLOTS)
bit sent[N * N * SLOTS], taken[N * N * SLOTS];
byte slot[N * N * SLOTS];   // 1 + the piece that it holds; 0: it is being written
byte order[N * N];          // of messages
byte left;                  // pieces that are to be moved yet, by both sides
chan queue[N * K] = [2 * N * PIECES] of { byte, byte };  // kind, piece

inline tell(word) { assert(word == 0); word = 1 }
inline take(word, at_once) { word == 1 || at_once -> word = 0 }

// Messages::move(): the copy ends, and its flag tells.
inline end_move() {
  if
  :: sends -> slot[at] = piece + 1; tell(sent[at])
  :: receives -> assert(slot[at] == piece + 1);
    assert(taken[at] == 0);
    taken[at] = (MUTANT != FORGETS_TAKEN)
  :: else
  fi;
  left = left - (sends + receives); sends = 0; receives = 0
}
// The queue comes to the next one, waits for its flag, and the copy begins.
inline begin_move() {
  if
  :: kind % 2 == 0 -> at = flag(me, kind / 2, piece);
    take(taken[at], MUTANT == OVERWRITES); slot[at] = 0; sends = 1
  :: else -> at = flag(kind / 2, me, piece);
    take(sent[at], MUTANT == READS_AT_ONCE); assert(slot[at] == piece + 1); receives = 1
  fi
}
proctype hardware_queue(byte me, number) {
  byte kind, piece, at;
  bit sends, receives;
  do
  :: atomic {
       end_move();
end:   queue[number] ? kind, piece;
       begin_move()
     }
  od
}  // never ends

// Messages::advance(), again and again, of a group of all messages of rank `me`: puts them into queues.
inline put_group() {
  for (round : 0 .. PIECES + SLOTS - 1) {
    if :: round >= SLOTS -> put_round(1, round - SLOTS) :: else fi;
    if :: round < PIECES -> put_round(0, round) :: else fi
  }
}
// Messages::choose_streams(): those that do not share the group's stream, 0, have one of their own.
inline put_round(receives, piece) {
  stream = 0;
  for (kind : 0 .. KINDS - 1) {
    apart = kind / 2 != me && (PIECES > SLOTS || (kind % 2 == 1 && N > 2));
    stream = stream + apart;
    if
    :: kind / 2 != me && kind % 2 == receives -> queue[me * K + stream * apart % K] ! kind, piece
    :: else
    fi
  }
}
inline put_one_at_a_time() {
  for (i : 0 .. N * (N - 1) - 1) {
    for (round : 0 .. PIECES - 1) {
      if
      :: order[i] / N == me -> queue[me * K] ! 2 * (order[i] % N), round
      :: order[i] % N == me -> queue[me * K] ! 2 * (order[i] / N) + 1, round
      :: else
      fi
    }
  }
}

init {
  byte me, i, j, k, kind, round, stream, messages;
  bit apart;
  atomic {
    for (i : 0 .. N * N * SLOTS - 1) { taken[i] = 1 }
    for (k : 0 .. N * N - 1) {   // any order: each comes to any place among those before it
      if
      :: k / N != k % N ->
        select(j : 0 .. messages);
        for (i : 1 .. messages - j) { order[messages + 1 - i] = order[messages - i] }
        order[j] = k;
        messages++
      :: else
      fi
    }
    left = 2 * PIECES * messages;
    for (me : 0 .. N - 1) {
#ifdef GROUPS
      put_group();
#else
      if :: me == 0 -> put_group() :: else -> put_one_at_a_time() fi;
#endif
      for (i : me * K .. me * K + K - 1) {
        if
        :: nempty(queue[i]) -> run hardware_queue(me, i)
        :: empty(queue[i])
        fi
      }
    }
    for (i : 0 .. N * N - 1) { order[i] = 0 }
    i = 0; j = 0
  }
  left == 0;
  for (i : 0 .. N * N * SLOTS - 1) { assert(taken[i] == 1 && sent[i] == 0) }
}
