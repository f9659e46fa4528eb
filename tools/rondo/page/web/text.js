// The text form of schedules, read and written as in core/schedule/parse.cc and text.cc. So the
// page's editor accepts the same texts as `rondo verify --file`.

/** Says where a text is wrong. Lines and columns count from 1. */
class TextError extends Error {
  constructor(line, column, what) { super(`line ${line}, column ${column}: ${what}`); }
}

/** One line, read from left to right. */
class Line {
  constructor(text, number) {
    this.text = text.slice(0, Line.comment(text));
    this.number = number;
    this.at = 0;
  }
  /** Where a '#' outside quotes begins. */
  static comment(text) {
    let quotes = false;
    for (let i = 0; i < text.length; ++i) {
      if (text[i] === '"') quotes = !quotes;
      if (text[i] === "#" && !quotes) return i;
    }
    return text.length;
  }
  skip() { while (/\s/.test(this.text[this.at] ?? "")) ++this.at; }
  mark() { this.skip(); return this.at; }
  atEnd() { return this.mark() === this.text.length; }
  fail(what, at = this.at) {
    const rest = this.text.slice(at);
    const found = rest === "" ? "the end of the line" : `'${rest.split(/[ \t\r]/)[0]}'`;
    throw new TextError(this.number, at + 1, `${what}, found ${found}`);
  }
  match(pattern) {
    this.skip();
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found;
  }
  word(expected) { return (this.match(/[A-Za-z_]+/y) ?? this.fail(`expected ${expected}`))[0]; }
  takeWord(wanted) {
    const before = this.mark();
    const found = this.match(/[A-Za-z_]+/y);
    if (found && found[0] === wanted) return true;
    this.at = before;
    return false;
  }
  keyword(wanted) { if (!this.takeWord(wanted)) this.fail(`expected '${wanted}'`); }
  take(sign) {
    this.skip();
    if (!this.text.startsWith(sign, this.at)) return false;
    this.at += sign.length;
    return true;
  }
  sign(wanted) { if (!this.take(wanted)) this.fail(`expected '${wanted}'`); }
  integer(expected, least, most) {
    const begin = this.mark();
    const value = Number(this.match(/\d+/y)?.[0] ?? NaN);
    if (value >= least && value <= most) return value;
    return this.fail(`expected ${expected}, a number from ${least} to ${most}`, begin);
  }
  /** Where `rondo verify` takes a formula, too. */
  value(expected, least, most) {
    const begin = this.mark();
    const value = Number((this.match(/\d+/y) ?? this.fail(`expected ${expected}`))[0]);
    if (value >= least && value <= most) return value;
    throw new TextError(this.number, begin + 1,
      `expected ${expected}, a number from ${least} to ${most}, found ${value}`);
  }
  name(expected) {
    const quotes = this.take('"');
    const pattern = quotes ? /[^"]+/y : /\S+/y;
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text) ?? this.fail(`expected ${expected}`);
    this.at = pattern.lastIndex;
    if (quotes) this.sign('"');
    return found[0];
  }
  end() { if (!this.atEnd()) this.fail("expected the end of the line"); }
}

const stepWords = ["send", "receive", "receive_reduce", "reduce", "copy"];

/** What each header word takes: [field, expectation, least, most]. */
const headerNumbers = {
  ranks: ["the number of ranks", 1, 1 << 20],
  root: ["the root", 0, 1 << 20],
  lanes: ["the number of lanes", 1, 65535],
  depth: ["the depth of channels", 1, 1 << 30],
  parts: ["the parts of a block", 1, 1 << 20],
};

const headerWords = ["collective", "algorithm", "phases", ...Object.keys(headerNumbers)];

class ScheduleReader {
  constructor() {
    this.header = { algorithm: "", root: 0, lanes: 1, depth: 1, parts: 1, phases: [] };
    this.stood = new Set();  // words of the header
    this.schedule = null;  // until the header is complete
  }

  read(text) {
    const lines = text.split("\n");
    if (lines[lines.length - 1] === "") lines.pop();
    lines.forEach((content, index) => {
      const line = new Line(content, index + 1);
      if (!line.atEnd()) this.statement(line);
    });
    if (this.schedule === null) this.openHeader(new Line("", lines.length + 1), 0);
    return this.schedule;
  }

  statement(line) {
    const begin = line.mark();
    const word = line.word("a word such as 'collective', 'rank' or 'send'");
    if (word === "rank") this.rank(line, begin);
    else if (this.schedule === null && [...stepWords, "phase", "round"].includes(word))
      line.fail("expected 'rank' before the first step", begin);
    else if (word === "phase" || word === "round") this.label(line, word === "phase");
    else if (stepWords.includes(word)) this.add(line, word);
    else if (this.schedule !== null && headerWords.includes(word))
      line.fail(`expected '${word}' before the first 'rank'`, begin);
    else if (this.schedule !== null)
      line.fail("expected send, receive, receive_reduce, reduce, copy, phase, round or rank", begin);
    else if (!this.headerLine(line, word, begin))
      line.fail("expected collective, algorithm, ranks, root, lanes, depth, parts, phases or rank",
        begin);
    line.end();
  }

  headerLine(line, word, begin) {
    const { header } = this;
    if (this.stood.has(word)) line.fail(`'${word}' stands twice`, begin);
    this.stood.add(word);
    if (word === "collective") {
      const nameBegin = line.mark();
      const name = line.name("a collective");
      if (!Object.hasOwn(collectives, name))
        line.fail(`expected a collective (${Object.keys(collectives).join(", ")})`, nameBegin);
      header.collective = name;
    } else if (word === "algorithm") {
      header.algorithm = line.name("a name");
    } else if (word === "phases") {
      while (!line.atEnd()) header.phases.push(line.name("a phase's name"));
    } else if (Object.hasOwn(headerNumbers, word)) {
      header[word] = word === "ranks" ? line.integer(...headerNumbers[word])
        : line.value(...headerNumbers[word]);
    } else {
      return false;
    }
    return true;
  }

  /** The header is complete: sections begin. */
  openHeader(line, begin) {
    const { header } = this;
    if (header.collective === undefined)
      line.fail("expected 'collective' in the lines before", begin);
    if (header.ranks === undefined) line.fail("expected 'ranks' in the lines before", begin);
    if (header.root >= header.ranks)
      line.fail(`expected a root below ${header.ranks} in the lines before (root is ` +
        `${header.root})`, begin);
    this.checkPage(line, begin);
    this.schedule = withLayout(header);
    this.schedule.lists = Array.from({ length: header.ranks * header.lanes }, () => []);
    this.opened = new Set();
  }

  /** Only the page has these limits. */
  checkPage(line, begin) {
    const { header } = this;
    const chunks = blocksOf(header.collective, header.ranks) * header.parts;
    if (header.ranks > mostPageRanks)
      line.fail(`this page plays at most ${mostPageRanks} ranks (rondo verify has no limit)`, begin);
    if (chunks * header.ranks > 16384 || header.lanes > 64)
      line.fail("this page plays at most 64 lanes and 16384 chunks on all ranks together", begin);
  }

  rank(line, statementBegin) {
    if (this.schedule === null) this.openHeader(line, statementBegin);
    const begin = line.mark();
    const { ranks, lanes } = this.schedule;
    const rank = line.value("a rank", 0, ranks - 1);
    const lane = line.takeWord("lane") ? line.value("a lane", 0, lanes - 1) : 0;
    this.section = rank * lanes + lane;
    if (this.opened.has(this.section))
      line.fail("this rank and lane have a section already", begin);
    this.opened.add(this.section);
    this.phase = this.round = 0;
  }

  label(line, namesPhase) {
    if (namesPhase) {
      const begin = line.mark();
      const found = this.header.phases.indexOf(line.name("a phase's name"));
      if (found < 0) line.fail("expected a phase that the 'phases' line names", begin);
      this.phase = found;
      line.keyword("round");
    }
    this.round = line.value("a round", 1, 1 << 30) - 1;
  }

  add(line, word) {
    const step = { kind: word, order: "received", phase: this.phase, round: this.round, operands: 1,
      peer: -1, from: null, into: null };
    if (word === "send") {
      step.from = this.chunk(line);
      line.keyword("to");
      step.peer = this.peer(line);
    } else if (word === "receive") {
      line.keyword("from");
      step.peer = this.peer(line);
    } else if (word === "receive_reduce") {
      this.receiveReduce(line, step);
    } else {
      step.from = this.chunk(line, word === "reduce" ? step : null);
    }
    if (word !== "send") {
      line.keyword("into");
      step.into = this.chunk(line);
    }
    this.schedule.lists[this.section].push(step);
  }

  receiveReduce(line, step) {
    if (line.takeWord("from")) {
      step.peer = this.peer(line);
      line.keyword("then");
      step.from = this.chunk(line);
      return;
    }
    step.order = "local";
    step.from = this.chunk(line);
    line.keyword("then");
    line.keyword("from");
    step.peer = this.peer(line);
  }

  peer(line) { return line.value("a rank", 0, this.schedule.ranks - 1); }

  /** `counted` gets the number of scratch slots, where a range of them may stand. */
  chunk(line, counted = null) {
    const begin = line.mark();
    const buffer = line.word("input, output or scratch");
    if (!["input", "output", "scratch"].includes(buffer))
      line.fail("expected input, output or scratch", begin);
    let slot = 0;
    if (buffer === "scratch") {
      slot = line.integer("a scratch slot", 0, 65535);
      if (counted && line.take(".."))
        counted.operands = line.integer("the last scratch slot", slot, 65535) - slot + 1;
    }
    const { chunks } = this.schedule;
    line.sign("[");
    const first = line.value("a chunk", 0, chunks - 1);
    const last = line.take("..") ? line.value("the last chunk", 0, chunks - 1) : first;
    line.sign("]");
    return { buffer, slot, first, count: ((last - first + chunks) % chunks) + 1 };
  }
}

/** A schedule from its text form; throws TextError. */
const parseSchedule = (text) => new ScheduleReader().read(text);

const quotedName = (name) => (/^[!-~]+$/.test(name) && !/["#]/.test(name) ? name : `"${name}"`);

function chunkText(run, slots, chunks) {
  let words = run.buffer === "scratch" ? `scratch${run.slot}` : run.buffer;
  if (slots > 1) words += `..${run.slot + slots - 1}`;
  const last = run.count > 1 ? `..${(run.first + run.count - 1) % chunks}` : "";
  return `${words}[${run.first}${last}]`;
}

/** One step as its line. */
function stepText(step, chunks) {
  const from = step.from && chunkText(step.from, step.operands, chunks);
  const into = step.into && ` into ${chunkText(step.into, 1, chunks)}`;
  switch (step.kind) {
    case "send":
      return `send ${from} to ${step.peer}`;
    case "receive":
      return `receive from ${step.peer}${into}`;
    case "receive_reduce":
      return step.order === "local" ? `receive_reduce ${from} then from ${step.peer}${into}`
        : `receive_reduce from ${step.peer} then ${from}${into}`;
    default:
      return `${step.kind} ${from}${into}`;
  }
}

function sectionText(schedule, steps, title) {
  let words = steps.length > 0 ? `\n${title}\n` : "";
  let phase = -1;
  let round = -1;
  for (const step of steps) {
    if (step.phase !== phase || step.round !== round) {
      const named = step.phase !== phase && step.phase < schedule.phases.length;
      words += `  ${named ? `phase ${quotedName(schedule.phases[step.phase])} ` : ""}` +
        `round ${step.round + 1}\n`;
    }
    ({ phase, round } = step);
    words += `    ${stepText(step, schedule.chunks)}\n`;
  }
  return words;
}

/** The text form, the same that `rondo schedule` prints. */
function scheduleText(schedule) {
  let words = `collective ${schedule.collective}\n`;
  if (schedule.algorithm) words += `algorithm ${quotedName(schedule.algorithm)}\n`;
  words += `ranks ${schedule.ranks}\n`;
  for (const [field, usual] of [["root", 0], ["lanes", 1], ["depth", 1], ["parts", 1]])
    if (schedule[field] !== usual) words += `${field} ${schedule[field]}\n`;
  if (schedule.phases.length > 0) words += `phases ${schedule.phases.map(quotedName).join(" ")}\n`;
  schedule.lists.forEach((steps, index) => {
    const rank = Math.floor(index / schedule.lanes);
    const lane = schedule.lanes > 1 ? ` lane ${index % schedule.lanes}` : "";
    words += sectionText(schedule, steps, `rank ${rank}${lane}`);
  });
  return words;
}
