// Numbers, chunks and messages as words, for eyes and for screen readers.

const sizeUnits = ["B", "KiB", "MiB", "GiB", "TiB"];

const threeDigits = (value) => {
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 6)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
};

function bytesText(bytes) {
  let value = bytes;
  let unit = 0;
  for (; value >= 1023.5 && unit + 1 < sizeUnits.length; ++unit) value /= 1024;
  return `${threeDigits(value)} ${sizeUnits[unit]}`;
}

function timeText(seconds) {
  if (seconds === 0) return "0 µs";
  if (seconds < 1e-6) return `${threeDigits(seconds * 1e9)} ns`;
  if (seconds < 1e-3) return `${threeDigits(seconds * 1e6)} µs`;
  if (seconds < 1) return `${threeDigits(seconds * 1e3)} ms`;
  return `${threeDigits(seconds)} s`;
}

const rateText = (bytesPerSecond) => (bytesPerSecond >= 1e9
  ? `${threeDigits(bytesPerSecond / 1e9)} GB/s` : `${threeDigits(bytesPerSecond / 1e6)} MB/s`);

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Up to 26 chunks have letters, as in textbooks. */
const chunkName = (chunk, chunks) => (chunks <= 26 ? String.fromCharCode(97 + chunk) : `${chunk}`);

const chunkNames = ({ chunks }) => Array.from({ length: chunks }, (_, chunk) => chunkName(chunk, chunks));

const algorithmTitle = (schedule) => (schedule.algorithm || "unnamed").replaceAll("_", " ") +
  (schedule.real ? ", as it ran" : "");
const collectiveTitle = (schedule) => collectives[schedule.collective].title;

/** "0", "0+3", "0–5", "7 ranks". */
function contributorsText(set, ranks) {
  const members = ranksOf(set);
  if (members.length === ranks && ranks > 1) return "all";
  if (members.length <= 3) return members.join("+");
  const last = members[members.length - 1];
  if (last - members[0] === members.length - 1) return `${members[0]}–${last}`;
  return `${members.length} ranks`;
}

/** Chunk names of a list of values: "b", "b–d", "3 chunks". */
function chunksText(values, chunks) {
  const numbers = values.map((value) => value.chunk);
  if (numbers.length === 1) return chunkName(Math.max(0, numbers[0]), chunks);
  const runs = numbers.every((chunk, i) => i === 0 || chunk === (numbers[i - 1] + 1) % chunks);
  return runs ? `${chunkName(numbers[0], chunks)}–${chunkName(numbers[numbers.length - 1], chunks)}`
    : plural(numbers.length, "chunk");
}

/** What a message carries, in short: "b 0+3". `short` is shorter still: "b Σ5". */
function cargoText(message, schedule, short = false) {
  const sets = new Set(message.values.map((value) => value.set));
  const { set, count } = message.values[0];
  const from = sets.size > 1 ? "mixed"
    : short && count > 3 && count < schedule.ranks ? `Σ${count}` : contributorsText(set, schedule.ranks);
  return `${chunksText(message.values, schedule.chunks)} ${from}`;
}

/** "chunk b with the contributions of ranks 0 and 3". */
function cargoSentence(values, schedule) {
  const many = values.length > 1;
  const name = `${many ? "chunks" : "chunk"} ${chunksText(values, schedule.chunks)}`;
  const members = ranksOf(values[0].set);
  if (isToken(schedule.collective)) return `the news of ${whoText(members, schedule.ranks)}`;
  if (new Set(values.map((value) => value.set)).size > 1) return `${name} of several ranks`;
  return members.length === 1 ? `${name} of rank ${members[0]}`
    : `${name}, the sum of ${whoText(members, schedule.ranks)},`;
}

function whoText(members, ranks) {
  if (members.length === ranks) return "all ranks";
  if (members.length === 1) return `rank ${members[0]}`;
  if (members.length > 6) return `${members.length} ranks`;
  return `ranks ${members.slice(0, -1).join(", ")} and ${members[members.length - 1]}`;
}

const mostSentences = 4;

/** "rank 0 sent chunk d of rank 0 to rank 1", with numbers: "(1), which adds it: 6 + 1 = 7". */
function messageSentence(replay, message, under, numbers) {
  const { schedule } = replay;
  const told = `rank ${message.from} ${under ? "is sending" : "sent"} ` +
    `${cargoSentence(message.values, schedule)} to rank ${receiverText(message, schedule)}`;
  if (!numbers || message.values.length !== 1) return told;
  const write = under ? undefined : replay.writes.find((each) => each.message === message && each.reduced);
  return write ? `${told}: ${additionText(message, write.values[0])}`
    : `${told}: ${message.values[0].numbers.join(", ")}`;
}

/** What happened up to a stop, or is under way, for the caption and the live region. */
function roundSentence(replay, messages, under, numbers) {
  const { schedule } = replay;
  if (messages.length === 0) return "nothing is on its way.";
  const labels = [...new Set(messages.map(({ phase, round }) => labelText(schedule, phase, round)))];
  const told = messages.slice(0, mostSentences).map((message) =>
    messageSentence(replay, message, under, numbers));
  const more = messages.length - told.length;
  const rest = more > 0 ? `; and ${plural(more, "more message")}` : "";
  return `${labels.slice(0, 3).join(", ")}: ${told.join("; ")}${rest}.`;
}

/** "rank 2 holds: a complete; b of ranks 1 and 2; c nothing". */
function rankSentence(replay, rank) {
  const { schedule } = replay;
  const full = fullCount(schedule);
  const groups = new Map();
  for (let chunk = 0; chunk < schedule.chunks; ++chunk) {
    const { best } = replay.cell(rank, chunk);
    const state = best === null ? "nothing" : best.count >= full && full > 1 ? "complete"
      : `from ${whoText(ranksOf(best.set), schedule.ranks)}`;
    if (!groups.has(state)) groups.set(state, []);
    groups.get(state).push(chunkName(chunk, schedule.chunks));
  }
  const words = [...groups].map(([state, names]) =>
    (names.length === schedule.chunks && names.length > 1 ? `all chunks ${state}`
      : names.length > 8 ? `${names.length} chunks ${state}` : `${names.join(", ")} ${state}`));
  return `${rankText(schedule, rank)} holds: ${words.join("; ")}`;
}
