// Reads the short form in which a page carries schedules; tools/rondo/page/encode.h describes it.

const stepToken = /^([srabmc])(\d*)(.*)$/;
const chunkToken = /([iox])(?:(\d+)\.)?(\d+)(?:\*(\d+))?/g;
const bufferNames = { i: "input", o: "output", x: "scratch" };
const stepKinds = {
  s: "send", r: "receive", a: "receive_reduce", b: "receive_reduce", m: "reduce", c: "copy",
};

/** The chunk runs of a token. Chunk numbers count from `base` and wrap. */
function decodeChunks(text, base, chunks) {
  return [...text.matchAll(chunkToken)].map(([, buffer, slot, first, count]) => ({
    buffer: bufferNames[buffer],
    slot: buffer === "x" ? Number(slot) : 0,
    first: (Number(first) + base) % chunks,
    count: count === undefined ? 1 : Number(count),
  }));
}

function decodeStep(token, label, place) {
  const [, letter, number, rest] = stepToken.exec(token);
  const runs = decodeChunks(rest, place.chunk, place.chunks);
  const step = { kind: stepKinds[letter], order: letter === "b" ? "local" : "received",
    phase: label.phase, round: label.round, operands: 1, peer: -1, from: runs[0],
    into: runs[runs.length - 1] };
  if (letter === "m") step.operands = Number(number);
  if ("srab".includes(letter)) step.peer = (Number(number) + place.rank) % place.ranks;
  return step;
}

function decodeProgram(words, place) {
  const steps = [];
  const label = { phase: 0, round: 0 };
  for (const token of words.split(" ")) {
    if (token === "") continue;
    if (token[0] === "@") {
      [label.phase, label.round] = token.slice(1).split(".").map(Number);
    } else {
      steps.push(decodeStep(token, label, place));
    }
  }
  return steps;
}

/** A schedule from the page's data: its header, and lists[rank * lanes + lane] of steps. */
function decodeSchedule(data) {
  const schedule = withLayout(data);
  const { ranks, lanes, chunks, steps } = schedule;
  const perRank = steps.rotated ? Math.floor(chunks / ranks) : 0;
  schedule.lists = steps.of.map((program, index) => {
    const own = Math.floor(index / lanes);
    const place = { rank: steps.rotated ? own : 0, ranks, chunk: own * perRank, chunks };
    return decodeProgram(steps.programs[program], place);
  });
  return schedule;
}
