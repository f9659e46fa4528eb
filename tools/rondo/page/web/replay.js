// A played schedule as time passes: what every rank holds at an instant, where messages are, and
// which instants are worth a stop.

/** A cell of the picture: the value with most contributions, the ranks of all values there, and when
 * the cell changed last. */
const emptyCell = { best: null, all: 0n, time: 0 };

class Replay {
  constructor(play) {
    this.play = play;
    this.schedule = play.schedule;
    this.messages = [...play.messages].sort((a, b) => a.begin - b.begin);
    this.writes = play.writes.map((write, order) => ({ ...write, order }))
      .sort((a, b) => a.time - b.time || a.order - b.order);
    this.end = play.end.t;
    this.longest = this.messages.reduce((most, each) => Math.max(most, each.settled - each.begin), 0);
    this.stops = this.findStops();
    this.rounds = this.findRounds();
    this.rewind();
  }

  /** Instants at which a message has ended. Instants that lie close together are one. */
  findStops() {
    const shortest = this.messages.reduce((least, each) => Math.min(least, each.end - each.begin),
      Infinity);
    const gap = Number.isFinite(shortest) ? Math.max(shortest * 0.2, this.end * 1e-9) : 0;
    const times = this.messages.map((message) => message.settled);
    if (this.writes.length > 0) times.push(this.writes[this.writes.length - 1].time);
    times.sort((a, b) => a - b);
    const stops = [];
    times.forEach((time, i) => {
      if (i + 1 === times.length || times[i + 1] - time > gap) stops.push(time);
    });
    return stops.filter((time) => time > 0);
  }

  /** Each round's label and messages, and the instant at which it and all rounds before it have been sent
   * and added. */
  findRounds() {
    const rounds = new Map();
    const keyOf = ({ phase, round }) => phase * 1e6 + round;
    for (const message of this.messages) {
      const key = keyOf(message);
      if (!rounds.has(key))
        rounds.set(key, { key, phase: message.phase, messages: [], end: 0,
          label: labelText(this.schedule, message.phase, message.round) });
      rounds.get(key).messages.push(message);
    }
    const extend = (step, time) => {
      const round = rounds.get(keyOf(step));
      if (round) round.end = Math.max(round.end, time);
    };
    for (const message of this.messages) extend(message, message.settled);
    for (const write of this.writes) if (write.reduced) extend(write, write.time);  // a copy may come late
    const all = [...rounds.values()].sort((a, b) => a.key - b.key);
    all.forEach((each, i) => { each.end = Math.max(each.end, i > 0 ? all[i - 1].end : 0); });
    if (all.length > 0) all[all.length - 1].end = this.end;
    return all;
  }

  rewind() {
    this.applied = 0;
    this.time = 0;
    const { schedule } = this;
    this.memory = Array.from({ length: schedule.ranks }, () => new Map());
    this.cells = Array.from({ length: schedule.ranks * schedule.chunks }, () => emptyCell);
    const { algebra } = this.play.memory;
    for (let rank = 0; rank < schedule.ranks; ++rank) {
      const { first, count } = held(schedule, "input", rank);
      for (let i = 0; i < count; ++i)
        this.store(rank, "input", first + i, algebra.leaf(rank, first + i));
    }
  }

  store(rank, place, chunk, value, time = 0) {
    const { memory } = this;
    if (!memory[rank].has(chunk)) memory[rank].set(chunk, new Map());
    const places = memory[rank].get(chunk);
    places.set(place, value);
    // An all-to-all combines nothing: a block that arrives replaces one that was to leave.
    if (place === "output" && this.schedule.collective === "all_to_all") places.delete("input");
    let best = null;
    let all = 0n;
    for (const each of places.values()) {
      if (each.fault === "undefined") continue;
      if (best === null || each.count > best.count) best = each;
      all |= each.set;
    }
    this.cells[rank * this.schedule.chunks + chunk] = { best, all, time };
  }

  /** Moves to an instant, forth or back. */
  seek(time) {
    if (time < this.time) this.rewind();
    this.time = time;
    const until = time * (1 + 1e-12);
    for (; this.applied < this.writes.length; ++this.applied) {
      const write = this.writes[this.applied];
      if (write.time > until) break;
      const place = write.run.buffer === "scratch" ? `scratch${write.run.slot}` : write.run.buffer;
      write.values.forEach((value, i) => {
        const chunk = (write.run.first + i) % this.schedule.chunks;
        if (holdsChunk(this.schedule, write.run.buffer, write.rank, chunk))
          this.store(write.rank, place, chunk, value, write.time);
      });
    }
  }

  cell(rank, chunk) { return this.cells[rank * this.schedule.chunks + chunk]; }

  /** Whether a cell was written last, alone or with others. */
  isFresh(cell) {
    return cell.time > 0 && cell.time >= this.writes[this.applied - 1].time * (1 - 1e-9);
  }

  /** What a rank's output buffer holds now. The end state is compared with the explainer's. */
  outputAt(rank, chunk) {
    return this.memory[rank].get(chunk)?.get("output") ?? ContributionAlgebra.nothing();
  }

  /** Messages on their way now. */
  flying() {
    const { messages, time } = this;
    const flying = [];
    for (let i = this.firstAfter(time - this.longest); i < messages.length; ++i) {
      if (messages[i].begin >= time * (1 - 1e-9)) break;  // what begins just now has not left yet
      if (messages[i].settled > time) flying.push(messages[i]);
    }
    return flying;
  }

  /** Messages that ended after `from` and not after `to`. */
  settledWithin(from, to) {
    const slack = 1e-12 * to;
    return this.messages.filter(({ settled }) => settled > from + slack && settled <= to + slack);
  }

  firstAfter(time) {
    let low = 0;
    let high = this.messages.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.messages[middle].begin < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** What every rank has sent at an instant, in parts of the vector. Messages under way count in part. */
  sharesAt(time, counts = () => true) {
    const shares = Array(this.schedule.ranks).fill(0);
    for (const message of this.messages) {
      const { from, begin, end, values } = message;
      if (begin >= time) break;
      if (!counts(message)) continue;
      const part = end > time ? (time - begin) / (end - begin) : 1;
      shares[from] += (part * values.length) / this.schedule.chunks;
    }
    return shares;
  }

  /** The number of messages that a rank has sent so far, whole ones. */
  messagesSentBy(rank) {
    return this.messages.filter(({ from, end }) => from === rank && end <= this.time * (1 + 1e-12)).length;
  }
}
