// What the stepping loop runs over: clocks (when), memory (what is where), and both together.

/**
 * An instant and its parts: t = messages * alpha + crossings * networkAlpha
 *   + N * (bytes * beta + crossed * networkBeta + reduced * gamma).
 */
const dawn = { t: 0, messages: 0, bytes: 0, reduced: 0, crossings: 0, crossed: 0 };
const later = (a, b) => (b.t > a.t ? b : a);

/**
 * An alpha-beta-gamma clock for every rank and lane, as in core/schedule/simulate.h. A message
 * occupies one out port and one in port, and between hosts the links of its way. A lane that receives
 * waits for the message's end. Where hosts are known, half of alpha occupies the sender's lane and
 * half the receiver's.
 */
class Clocks {
  constructor(schedule, costs) {
    this.schedule = schedule;
    this.costs = costs;
    this.lanes = schedule.lanes;
    this.chunks = schedule.chunks;
    this.clocks = schedule.lists.map(() => dawn);
    this.outFree = Array.from({ length: schedule.ranks }, () => dawn);
    this.inFree = Array.from({ length: schedule.ranks }, () => dawn);
    this.linkFree = Array.from({ length: schedule.network?.links.length ?? 0 }, () => dawn);
  }

  /** The bytes of so many chunks. */
  size(count) { return (this.costs.bytes / this.chunks) * count; }
  now(site) { return this.clocks[site.rank * this.lanes + site.lane]; }
  set(site, instant) { this.clocks[site.rank * this.lanes + site.lane] = instant; }

  /** The instant at which the op could start. */
  startInstant(site) {
    const { out } = site.op;
    const now = this.now(site);
    if (out < 0) return now;
    if (crosses(this.schedule, { from: site.rank, to: out }))
      return later(now, this.linkFree[this.schedule.network.ports[site.rank]]);
    return later(later(now, this.outFree[site.rank]), this.inFree[out]);
  }
  start(site, arrived) { return Math.max(arrived, this.startInstant(site).t); }

  depart(site, peer) {
    const { count } = site.op;
    const { alpha, beta } = this.costs;
    const begin = this.startInstant(site);
    this.set(site, this.moved(this.now(site), site.rank, peer, 0.5));
    if (crosses(this.schedule, { from: site.rank, to: peer }))
      return { begin, end: this.cross(site.rank, peer, begin, count) };
    const end = { ...begin, t: begin.t + this.size(count) * beta + alpha,
      messages: begin.messages + 1, bytes: begin.bytes + count / this.chunks };
    this.outFree[site.rank] = this.inFree[peer] = end;
    return { begin, end };
  }

  /** Occupies each link of the way, from when it is free; when the message is through all of them. */
  cross(from, to, begin, count) {
    const { links, ports, ways, hops } = this.schedule.network;
    const { networkAlpha, networkBeta } = this.costs;
    let at = begin;
    let end = begin;
    let link = ports[from];
    let hop = ways[ports[from]][ports[to]];
    for (;;) {
      at = later(at, this.linkFree[link]);
      this.linkFree[link] = { ...at, t: at.t + this.size(count) * (networkBeta * links[link]),
        crossed: at.crossed + (count / this.chunks) * links[link] };
      end = later(end, this.linkFree[link]);
      if (hop < 0) break;
      [link, hop] = hops.slice(2 * hop, 2 * hop + 2);
    }
    return { ...end, t: end.t + networkAlpha, crossings: end.crossings + 1 };
  }

  arrive(site, peer, end) {
    const begin = later(this.now(site), this.moved(end, peer, site.rank, -0.5));
    this.set(site, this.moved(begin, peer, site.rank, 0.5));
  }

  /** The instant, later by so many alphas of a message; as it is where hosts are not known. */
  moved(instant, from, to, alphas) {
    if (this.schedule.network === undefined) return instant;
    const { alpha, networkAlpha } = this.costs;
    return crosses(this.schedule, { from, to })
      ? { ...instant, t: instant.t + alphas * networkAlpha, crossings: instant.crossings + alphas }
      : { ...instant, t: instant.t + alphas * alpha, messages: instant.messages + alphas };
  }

  combine(site, operands) {
    const count = (operands - 1) * site.op.count;
    const now = this.now(site);
    this.set(site, { ...now, t: now.t + this.size(count) * this.costs.gamma,
      reduced: now.reduced + count / this.chunks });
  }

  /** The instant at which the last lane is done. */
  end() { return this.clocks.reduce(later, dawn); }
}

/** Clocks alone: they tell how long a schedule takes. */
class ClockDomain {
  constructor(schedule, costs) { this.clocks = new Clocks(schedule, costs); }
  start(site, arrived) { return this.clocks.start(site, arrived); }
  arrival(message) { return message.t; }
  read() { return null; }
  write() {}
  combine(site, operands) { this.clocks.combine(site, operands.length); }
  arrive(site, peer, message) { this.clocks.arrive(site, peer, message); }
  depart(site, peer) { return this.clocks.depart(site, peer).end; }
}

/** The instant at which a run at these costs ends, or at which a wrong schedule stops. */
function predict(schedule, costs) {
  const domain = new ClockDomain(schedule, costs);
  try {
    new Machine(schedule, domain).run();
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;  // it is among the findings
  }
  return domain.clocks.end();
}

/** Every rank's buffers, which hold contributions. It complains of every mistake in a step. */
class Memory {
  constructor(schedule, complain) {
    this.schedule = schedule;
    this.complain = complain;
    this.algebra = new ContributionAlgebra(schedule);
    this.apart = schedule.lanes > 1;
    this.cells = Array.from({ length: schedule.ranks }, () => new Map());
    this.readers = Array.from({ length: schedule.ranks }, () => new Map());
  }

  key(run, chunk) {
    const place = run.buffer === "output" ? 0 : run.slot + 1;
    return place * this.schedule.chunks + chunk;
  }
  chunkAt(run, i) { return (run.first + i) % this.schedule.chunks; }
  cell(rank, run, chunk) { return this.cells[rank].get(this.key(run, chunk)); }
  output(rank, chunk) {
    return this.cells[rank].get(chunk)?.value ?? ContributionAlgebra.nothing();
  }

  read(site, run) {
    return Array.from({ length: run.count }, (_, i) => {
      const chunk = this.chunkAt(run, i);
      if (!holdsChunk(this.schedule, run.buffer, site.rank, chunk)) {
        this.complain(site, `reads ${runText(run, chunk)}, which this rank's buffer does not have`);
        return ContributionAlgebra.nothing();
      }
      return run.buffer === "input" ? this.readInput(site, chunk)
        : this.readWritten(site, run, chunk);
    });
  }

  readInput(site, chunk) {
    if (mayAlias(this.schedule.collective) && this.cells[site.rank].has(chunk))
      this.complain(site, `reads input chunk ${chunk} after output of the same chunk was ` +
        "written: wrong when in place");
    const readers = this.readers[site.rank];
    const before = readers.get(chunk) ?? site.lane;
    readers.set(chunk, before === site.lane ? site.lane : this.schedule.lanes);
    return this.algebra.leaf(site.rank, chunk);
  }

  readWritten(site, run, chunk) {
    const cell = this.cell(site.rank, run, chunk);
    if (cell === undefined) {
      this.complain(site, `reads ${runText(run, chunk)}, which nothing has written`);
      return ContributionAlgebra.nothing();
    }
    if (this.apart && cell.lane !== site.lane)
      this.complain(site, `reads ${runText(run, chunk)}, which lane ${cell.lane} writes: lanes ` +
        "run in any order");
    return cell.value;
  }

  combine(site, operands) {
    return operands[0].map((_, i) => {
      const column = operands.map((operand) => operand[i]);
      const value = this.algebra.combine(column);
      if (value.fault && column.every((operand) => !operand.fault))
        this.complain(site, `combines ${column.map((each) => this.algebra.text(each)).join(" with ")}` +
          this.algebra.twice(column));
      return value;
    });
  }

  write(site, run, values) {
    values.forEach((value, i) => {
      const chunk = this.chunkAt(run, i);
      if (!holdsChunk(this.schedule, run.buffer, site.rank, chunk)) {
        this.complain(site, `writes ${runText(run, chunk)}, which this rank's buffer does not have`);
        return;
      }
      const cell = this.cell(site.rank, run, chunk);
      if (this.apart && cell !== undefined && cell.lane !== site.lane)
        this.complain(site, `writes ${runText(run, chunk)}, which lane ${cell.lane} writes too`);
      this.cells[site.rank].set(this.key(run, chunk), { value, lane: site.lane });
    });
  }

  /** Complains where one lane read an input chunk and another lane wrote that output chunk. */
  checkLanes() {
    if (!this.apart || !mayAlias(this.schedule.collective)) return;
    this.readers.forEach((readers, rank) => {
      for (const [chunk, reader] of readers) {
        const writer = this.cells[rank].get(chunk)?.lane;
        if (writer !== undefined && writer !== reader)
          this.complain(null, `rank ${rank} lane ${writer}: writes output chunk ${chunk}, whose ` +
            "input another lane reads: wrong when in place");
      }
    });
  }
}

/** "input 3", "scratch slot 2 chunk 5". */
const runText = (run, chunk) =>
  `${run.buffer}${run.buffer === "scratch" ? ` slot ${run.slot}` : ""} chunk ${chunk}`;
