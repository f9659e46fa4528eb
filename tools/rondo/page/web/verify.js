// The page's verifier: plays a schedule once over memory and clocks, records what happens when, and
// says what is wrong. Its verdicts are those of `rondo verify`, and a test compares them.

const mostFindings = 20;

/** Memory and clocks together, with a record of messages and writes. */
class Recorder {
  constructor(schedule, costs, complain) {
    this.clocks = new Clocks(schedule, costs);
    this.memory = new Memory(schedule, complain);
    this.messages = [];
    this.writes = [];
  }
  start(site, arrived) { return this.clocks.start(site, arrived); }
  arrival(message) { return message.end.t; }
  read(site, run) { return this.memory.read(site, run); }

  combine(site, operands) {
    this.clocks.combine(site, operands.length);
    return this.memory.combine(site, operands);
  }

  write(site, run, values) {
    this.memory.write(site, run, values);
    const { rank, lane, op } = site;
    this.writes.push({ rank, lane, run, values, phase: op.phase, round: op.round,
      reduced: op.operands.length > 1, time: this.clocks.now(site).t, message: this.taken ?? null });
    if (this.taken) this.taken.settled = this.clocks.now(site).t;
    this.taken = null;
  }

  arrive(site, peer, message) {
    this.clocks.arrive(site, peer, message.end);
    this.taken = message.record;
    return message.values;
  }

  depart(site, peer, values) {
    const { begin, end } = this.clocks.depart(site, peer);
    const { run } = site.op.operands[0];
    const record = { from: site.rank, to: peer, lane: site.lane, values, run, phase: site.op.phase,
      round: site.op.round, begin: begin.t, end: end.t, settled: end.t };
    this.messages.push(record);
    return { values, end, record };
  }
}

/** The wait cycle of blocked cursors, or null. */
function waitCycle(blocked, lanes) {
  const key = (rank, lane) => rank * lanes + lane;
  const byCursor = new Map(blocked.map((cursor) => [key(cursor.rank, cursor.lane), cursor]));
  for (const start of blocked) {
    const walk = [];
    let at = start;
    while (at !== undefined && !walk.includes(at)) {
      walk.push(at);
      at = byCursor.get(key(at.peer, at.lane));
    }
    if (at === undefined) continue;
    const cycle = walk.slice(walk.indexOf(at));
    const lowest = cycle.reduce((best, cursor, i) =>
      (key(cursor.rank, cursor.lane) < key(cycle[best].rank, cycle[best].lane) ? i : best), 0);
    return [...cycle.slice(lowest), ...cycle.slice(0, lowest)];
  }
  return null;
}

function blockedText(schedule, cursor, cursors) {
  const peerEnded = cursors[cursor.peer * schedule.lanes + cursor.lane]?.ended;
  const waits = cursor.on === "message" ? `waits to receive from ${cursor.peer}`
    : `waits to send to ${cursor.peer} (channel full)`;
  return `rank ${cursor.rank} lane ${cursor.lane} ${waits}${peerEnded ? ", which has ended," : ""} ` +
    `in ${labelText(schedule, cursor.op.phase, cursor.op.round)}, step ${cursor.next}`;
}

function stuckFindings(schedule, outcome, cursors) {
  const findings = [];
  if (!outcome.completed) {
    const cycle = waitCycle(outcome.blocked, schedule.lanes);
    const sentences = (cycle ?? outcome.blocked).slice(0, 8)
      .map((cursor) => blockedText(schedule, cursor, cursors));
    findings.push(`${cycle ? `wait cycle at depth ${schedule.depth}` : "stuck"}: ` +
      sentences.join("; "));
  }
  for (const left of outcome.leftOver)
    findings.push(`${left.messages} message(s) from rank ${left.from} to rank ${left.to} lane ` +
      `${left.lane} were never received`);
  return findings;
}

function* outputFindings(schedule, memory) {
  for (let rank = 0; rank < schedule.ranks; ++rank) {
    for (let chunk = 0; chunk < schedule.chunks; ++chunk) {
      const wanted = expectedOutput(schedule, rank, chunk);
      const value = memory.output(rank, chunk);
      if (wanted === null || memory.algebra.satisfies(value, wanted)) continue;
      yield `rank ${rank}: output chunk ${chunk} ends with ${memory.algebra.text(value)}, ` +
        `expected ${memory.algebra.expectationText(wanted)}${memory.algebra.missing(value, wanted)}`;
    }
  }
}

/** Every rank must combine a chunk in the same order, or results could differ in bits. */
function* orderFindings(schedule, memory) {
  const { reduces } = collectives[schedule.collective];
  if (!reduces || isScan(schedule.collective)) return;
  for (let chunk = 0; chunk < schedule.chunks; ++chunk) {
    let first = null;
    for (let rank = 0; rank < schedule.ranks; ++rank) {
      if (expectedOutput(schedule, rank, chunk) === null) continue;
      const { tree } = memory.output(rank, chunk);
      first ??= { rank, tree };
      if (tree !== first.tree)
        yield `ranks ${first.rank} and ${rank} combine chunk ${chunk} in different orders: ` +
          "their results could differ in bits";
    }
  }
}

/**
 * Plays a schedule at these costs {alpha, beta, gamma, bytes}. Returns messages and writes with
 * their times, the end, and findings (none when the schedule is right).
 */
function playSchedule(schedule, costs) {
  const findings = [];
  const add = (sentence) => { if (findings.length < mostFindings) findings.push(sentence); };
  const complain = (site, words) => add(site === null ? words
    : `rank ${site.rank} lane ${site.lane} step ${site.next} ` +
      `(${labelText(schedule, site.op.phase, site.op.round)}): ${words}`);
  const recorder = new Recorder(schedule, costs, complain);
  const { memory } = recorder;
  try {
    const machine = new Machine(schedule, recorder);
    const outcome = machine.run();
    stuckFindings(schedule, outcome, machine.cursors).forEach(add);
    if (outcome.completed) {
      memory.checkLanes();
      for (const sentence of outputFindings(schedule, memory)) add(sentence);
      if (findings.length === 0 && !isToken(schedule.collective))
        for (const sentence of orderFindings(schedule, memory)) add(sentence);
    }
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    add(error.message);
  }
  const { messages, writes } = recorder;
  const end = recorder.clocks.end();
  return { schedule, costs, messages, writes, memory, findings, end };
}
