// Model of a channel of arena.h: one sender, one receiver, DEPTH slots, by either protocol.
//
//   sender                                              receiver
//   waits for credit + DEPTH > step   <------------     credit = step + 1, when it has read all
//   bulk: frame, then head = step + 1    ---------->    waits for head > step, then reads the frame
//   low latency: packets, flag of step   ---------->    waits for each packet's flag
//
// Message `step` uses slot step mod DEPTH of frames or of packets. Flags repeat after PERIOD messages.
// Short messages have one packet, long ones two, and bulk messages none. So each slot's packets are wiped
// each WIPE-th time that the slot is used, by messages of both protocols.
//
// It shows for any sequence of messages: what a receiver takes for its message is that (asserts), a slot
// is not written before it is read, and all messages arrive.
//
// A step begins with a wait: a rank that does it later is no different from a slow one. Threads of a team
// take packets in any order. What a team does between two barriers (bulk.h) is one step here.
//
// check: holds      -DDEPTH=2 -DPERIOD=8 -DWIPE=2 -DMESSAGES=20
// check: holds      -DDEPTH=1 -DPERIOD=4 -DWIPE=2 -DMESSAGES=12
// check: holds      -DDEPTH=2 -DPERIOD=4 -DWIPE=1 -DMESSAGES=12
// check: assertion  -DDEPTH=2 -DPERIOD=4 -DWIPE=2 -DMESSAGES=12
// check: assertion  -DMUTANT=NEVER_WIPES
// check: assertion  -DMUTANT=BULK_NEVER_WIPES
// check: assertion  -DMUTANT=NO_CREDIT
// check: assertion  -DMUTANT=CREDIT_EARLY
// check: assertion  -DMUTANT=HEAD_EARLY
#ifndef DEPTH
#define DEPTH 2
#define PERIOD 4
#define WIPE 1
#define MESSAGES 12
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
mtype = { NEVER_WIPES, BULK_NEVER_WIPES, NO_CREDIT, CREDIT_EARLY, HEAD_EARLY }
#define is_bulk (shapes[step % 4] == 0)
#define is_long (shapes[step % 4] == 2)
byte shapes[4], chosen;             // of messages: 0 bulk, 1 short and 2 long by the other protocol
byte frames[DEPTH];                 // 1 + the message that it holds; 0: it is being written
byte packets[2 * DEPTH];            // likewise; its flag follows from that; 0: it is wiped
byte head, credit;
#define slot (step % DEPTH)
#define has_flag(value) (value != 0 && (value - 1) % PERIOD == step % PERIOD)  // flag_of(), never 0
#define wipe_due \
  (step / DEPTH % WIPE == 0 && MUTANT != NEVER_WIPES && (MUTANT != BULK_NEVER_WIPES || !is_bulk))

// Both sides know what comes. The first of them to come to a message chooses.
inline choose() {
  if
  :: step == chosen -> chosen++;
    if :: shapes[step % 4] = 0 :: shapes[step % 4] = 1 :: shapes[step % 4] = 2 fi
  :: else
  fi
}
inline wipe() {
  if
  :: wipe_due -> packets[2 * slot] = 0; packets[2 * slot + 1] = 0
  :: else
  fi
}
// BulkOps::run(), LowLatencyOp::take_slot() and move_packet()
active proctype sender() {
  byte step;
  for (step : 0 .. MESSAGES - 1) {
    atomic {
      credit + DEPTH > step || MUTANT == NO_CREDIT;
      choose();
      wipe();
      if
      :: is_bulk -> frames[slot] = 0; head = (MUTANT == HEAD_EARLY -> step + 1 : head)
      :: shapes[step % 4] == 1 -> packets[2 * slot] = step + 1
      :: is_long -> packets[2 * slot] = step + 1
      :: is_long -> packets[2 * slot + 1] = step + 1
      fi
    }
    atomic {  // BulkOps::publish(), which a team may put off until it waits
      if
      :: is_bulk -> frames[slot] = step + 1; head = step + 1
      :: is_long -> packets[2 * slot] = step + 1; packets[2 * slot + 1] = step + 1
      :: else
      fi
    }
  }
}

inline await_packet(i) {
  has_flag(packets[2 * slot + i]);
  assert(packets[2 * slot + i] == step + 1)
}
// BulkOps::run(), LowLatencyOp::await_packet(), return_credits()
active proctype receiver() {
  byte step;
  bit first;  // of the packets
  for (step : 0 .. MESSAGES - 1) {
    atomic {
      choose();
      if
      :: is_bulk -> head > step; assert(frames[slot] == step + 1)
      :: !is_bulk -> first = 0; await_packet(0)
      :: is_long -> first = 1; await_packet(1)
      fi;
      credit = (MUTANT == CREDIT_EARLY -> step + 1 : credit)
    }
    atomic {
      if
      :: is_bulk -> assert(frames[slot] == step + 1)
      :: is_long -> await_packet(1 - first)
      :: else
      fi;
      credit = step + 1
    }
  }
}
