// The stepping loop: runs the steps of all ranks and lanes over a domain, as
// core/schedule/machine.h does. A domain supplies read, write, combine, arrive, depart, start and
// arrival. Steps that can run do so in the order of their start, then of rank and lane.

/** What a step needs and does: operands (local runs or a peer's message), into, out. */
function toOp(step) {
  const local = { run: step.from };
  const message = { peer: step.peer };
  const op = { step, phase: step.phase, round: step.round, into: step.into, out: -1,
    count: (step.kind === "receive" ? step.into : step.from).count, operands: [local] };
  if (step.kind === "send") [op.out, op.into] = [step.peer, null];
  if (step.kind === "receive") op.operands = [message];
  if (step.kind === "receive_reduce")
    op.operands = step.order === "local" ? [local, message] : [message, local];
  if (step.kind === "reduce")
    op.operands = Array.from({ length: step.operands }, (_, i) => ({
      run: { ...step.from, slot: step.from.slot + i } }));
  return op;
}

/** Why an op cannot run under the schedule's header. Empty when it can. */
function defectOf(schedule, rank, op) {
  const { step } = op;
  if (step.peer === rank) return "exchanges a message with itself";
  if (step.kind === "send") return "";
  if (step.into.buffer === "input") return "writes the input buffer, which is read only";
  if (step.kind !== "receive" && step.into.count !== step.from.count)
    return "writes another number of chunks than it reads";
  return "";
}

/** A binary heap of {start, id}: the least start first, then the least id. */
class ReadyQueue {
  constructor() { this.items = []; }
  get empty() { return this.items.length === 0; }
  static before(a, b) { return a.start < b.start || (a.start === b.start && a.id < b.id); }

  push(item) {
    const { items } = this;
    let at = items.push(item) - 1;
    for (; at > 0; at = (at - 1) >> 1) {
      const parent = (at - 1) >> 1;
      if (!ReadyQueue.before(item, items[parent])) break;
      items[at] = items[parent];
      items[(at - 1) >> 1] = item;
    }
  }

  pop() {
    const { items } = this;
    const top = items[0];
    const last = items.pop();
    if (items.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && ReadyQueue.before(items[child + 1], items[child])) ++child;
      if (!ReadyQueue.before(items[child], last)) break;
      items[at] = items[child];
      at = child;
    }
    items[at] = last;
    return top;
  }
}

class Machine {
  constructor(schedule, domain) {
    this.schedule = schedule;
    this.domain = domain;
    this.cursors = schedule.lists.map((list, id) => ({ list, next: 0, op: null, ended: false, on: "",
      peer: -1, arrived: 0, rank: Math.floor(id / schedule.lanes), lane: id % schedule.lanes }));
    this.channels = new Map();
    this.ready = new ReadyQueue();
    this.woken = [];
    this.steps = 0;
  }

  run() {
    for (let id = this.cursors.length; id-- > 0;) this.woken.push(id);
    for (;;) {
      this.prepareWoken();
      if (this.ready.empty) break;
      const { start, id } = this.ready.pop();
      const now = this.startOf(id);
      if (now > start) {
        this.ready.push({ start: now, id });
        continue;
      }
      this.fire(id);
      this.woken.push(id);
    }
    return this.outcome();
  }

  channel(from, to, lane) {
    const key = (lane * this.schedule.ranks + from) * this.schedule.ranks + to;
    if (!this.channels.has(key))
      this.channels.set(key, { from, to, lane, queue: [], head: 0, receiver: false, sender: false });
    return this.channels.get(key);
  }
  static size(channel) { return channel.queue.length - channel.head; }

  prepareWoken() {
    while (this.woken.length > 0) {
      const id = this.woken.pop();
      if (this.prepare(this.cursors[id])) this.ready.push({ start: this.startOf(id), id });
    }
  }

  startOf(id) {
    const cursor = this.cursors[id];
    return this.domain.start(cursor, cursor.arrived);
  }

  /** True when the cursor's next step can run. Otherwise notes what the step waits for. */
  prepare(cursor) {
    if (cursor.op === null) {
      if (cursor.next >= cursor.list.length) cursor.ended = true;
      if (cursor.ended) return false;
      cursor.op = toOp(cursor.list[cursor.next]);
      const defect = defectOf(this.schedule, cursor.rank, cursor.op);
      if (defect) throw new ScheduleError(cursor, defect, this.schedule);
    }
    cursor.arrived = 0;
    for (const { peer } of cursor.op.operands) {
      if (peer === undefined) continue;
      const channel = this.channel(peer, cursor.rank, cursor.lane);
      if (Machine.size(channel) === 0) {
        channel.receiver = true;
        [cursor.on, cursor.peer] = ["message", peer];
        return false;
      }
      cursor.arrived = this.domain.arrival(channel.queue[channel.head]);
    }
    if (cursor.op.out < 0) return true;
    const out = this.channel(cursor.rank, cursor.op.out, cursor.lane);
    if (Machine.size(out) < this.schedule.depth) return true;
    out.sender = true;
    [cursor.on, cursor.peer] = ["room", cursor.op.out];
    return false;
  }

  fire(id) {
    const cursor = this.cursors[id];
    const { op } = cursor;
    const values = op.operands.map((operand) => (operand.peer === undefined
      ? this.domain.read(cursor, operand.run) : this.take(cursor, operand.peer)));
    const result = values.length === 1 ? values[0] : this.domain.combine(cursor, values);
    if (op.into) this.domain.write(cursor, op.into, result);
    if (op.out >= 0) this.put(cursor, op.out, result);
    cursor.op = null;
    ++cursor.next;
    ++this.steps;
  }

  take(cursor, peer) {
    const channel = this.channel(peer, cursor.rank, cursor.lane);
    const message = channel.queue[channel.head++];
    if (channel.sender) {
      channel.sender = false;
      this.woken.push(peer * this.schedule.lanes + cursor.lane);
    }
    return this.domain.arrive(cursor, peer, message);
  }

  put(cursor, peer, value) {
    const channel = this.channel(cursor.rank, peer, cursor.lane);
    channel.queue.push(this.domain.depart(cursor, peer, value));
    if (!channel.receiver) return;
    channel.receiver = false;
    this.woken.push(peer * this.schedule.lanes + cursor.lane);
  }

  outcome() {
    const blocked = this.cursors.filter((cursor) => !cursor.ended);
    const leftOver = [...this.channels.values()].filter((channel) => Machine.size(channel) > 0)
      .map((channel) => ({ ...channel, messages: Machine.size(channel) }));
    return { completed: blocked.length === 0, blocked, leftOver, steps: this.steps };
  }
}

/** A step that no machine can run. */
class ScheduleError extends Error {
  constructor(cursor, what, schedule) {
    super(`rank ${cursor.rank} lane ${cursor.lane} step ${cursor.next} ` +
      `(${labelText(schedule, cursor.op.phase, cursor.op.round)}): ${what}`);
  }
}

/** "reduce-scatter round 2", or "round 2" where the schedule names no phases. */
function labelText(schedule, phase, round) {
  const name = schedule.phases[phase];
  return `${name === undefined ? "" : `${name} `}round ${round + 1}`;
}
