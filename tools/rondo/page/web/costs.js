// Time over size. For one schedule the predicted time is the largest of a few straight lines
// messages * alpha + N * (bytes * beta + reduced * gamma), so a handful of runs of the clock is
// enough to know it everywhere.

const lineAt = (line, costs, bytes) =>
  line.messages * costs.alpha + bytes * (line.bytes * costs.beta + line.reduced * costs.gamma);

const sameLine = (a, b) => a.messages === b.messages &&
  Math.abs(a.bytes - b.bytes) < 1e-9 && Math.abs(a.reduced - b.reduced) < 1e-9;

/** The lines that matter between two sizes; `depth` bounds the runs. */
function linesBetween(schedule, costs, [low, lowLine], [high, highLine], depth) {
  if (depth === 0 || sameLine(lowLine, highLine)) return [];
  const slope = (line) => line.bytes * costs.beta + line.reduced * costs.gamma;
  const steeper = slope(highLine) - slope(lowLine);
  let middle = ((lowLine.messages - highLine.messages) * costs.alpha) / steeper;
  if (!(middle > low * 1.01 && middle < high * 0.99)) middle = Math.sqrt(low * high);
  const line = predict(schedule, { ...costs, bytes: middle });
  if (sameLine(line, lowLine) || sameLine(line, highLine)) return [];
  return [...linesBetween(schedule, costs, [low, lowLine], [middle, line], depth - 1), line,
    ...linesBetween(schedule, costs, [middle, line], [high, highLine], depth - 1)];
}

/** A function from N in bytes to seconds, for sizes within [low, high]. */
function timeOverSize(schedule, costs, low, high) {
  if (isToken(schedule.collective)) {
    const line = { ...predict(schedule, { ...costs, bytes: 0 }), bytes: 0, reduced: 0 };
    return (bytes) => lineAt(line, costs, bytes);
  }
  const ends = [low, high].map((bytes) => [bytes, predict(schedule, { ...costs, bytes })]);
  const lines = [ends[0][1], ...linesBetween(schedule, costs, ends[0], ends[1], 4), ends[1][1]];
  return (bytes) => lines.reduce((most, line) => Math.max(most, lineAt(line, costs, bytes)), 0);
}

/** Sizes at which `first` and `second` change places: [{bytes, faster: 0 or 1 beyond it}]. */
function crossovers(first, second, low, high) {
  const difference = (power) => first(2 ** power) / second(2 ** power) - 1;
  const found = [];
  const step = 1 / 8;
  let before = difference(Math.log2(low));
  for (let power = Math.log2(low) + step; power <= Math.log2(high); power += step) {
    const now = difference(power);
    if (Math.abs(now) > 1e-6 && Math.abs(before) > 1e-6 && now * before < 0)
      found.push({ bytes: 2 ** bisect(difference, power - step, power), faster: now < 0 ? 0 : 1 });
    if (Math.abs(now) > 1e-6) before = now;
  }
  return found;
}

function bisect(difference, from, to) {
  const sign = Math.sign(difference(from));
  let [low, high] = [from, to];
  for (let i = 0; i < 40; ++i) {
    const middle = (low + high) / 2;
    if (Math.sign(difference(middle)) === sign) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
