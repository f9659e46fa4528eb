// Time over size. For one schedule the predicted time consists of a few straight lines, which the
// parts of an instant say (domains.js), so a handful of runs of the clock is enough to know it
// everywhere.

const constantOf = (line, costs) =>
  line.messages * costs.alpha + line.crossings * costs.networkAlpha;
const slopeOf = (line, costs) =>
  line.bytes * costs.beta + line.crossed * costs.networkBeta + line.reduced * costs.gamma;
const lineAt = (line, costs, bytes) => constantOf(line, costs) + bytes * slopeOf(line, costs);

const sameLine = (a, b) => a.messages === b.messages && a.crossings === b.crossings &&
  ["bytes", "crossed", "reduced"].every((part) => Math.abs(a[part] - b[part]) < 1e-9);

/**
 * The time at a size between two runs: the larger of their lines, but no more than a straight line
 * between the two. The latter matters where ranks share links, and may take them in another order.
 */
function timeBetween(low, high, costs, bytes) {
  const part = (bytes - low.bytes) / (high.bytes - low.bytes);
  const straight = low.line.t + part * (high.line.t - low.line.t);
  return Math.min(straight, Math.max(lineAt(low.line, costs, bytes), lineAt(high.line, costs, bytes)));
}

/** Runs between two others, where those do not tell the time within 0.1 %; `depth` bounds them. */
function runsBetween(schedule, costs, low, high, depth) {
  if (depth === 0 || sameLine(low.line, high.line)) return [];
  const steeper = slopeOf(high.line, costs) - slopeOf(low.line, costs);
  let bytes = (constantOf(low.line, costs) - constantOf(high.line, costs)) / steeper;
  if (!(bytes > low.bytes * 1.01 && bytes < high.bytes * 0.99)) bytes = Math.sqrt(low.bytes * high.bytes);
  const middle = { bytes, line: predict(schedule, { ...costs, bytes }) };
  if (Math.abs(timeBetween(low, high, costs, bytes) / middle.line.t - 1) < 1e-3) return [middle];
  return [...runsBetween(schedule, costs, low, middle, depth - 1), middle,
    ...runsBetween(schedule, costs, middle, high, depth - 1)];
}

/** A function from N in bytes to seconds, for sizes within [low, high]. */
function timeOverSize(schedule, costs, low, high) {
  if (isToken(schedule.collective)) {
    const { t } = predict(schedule, { ...costs, bytes: 0 });
    return () => t;
  }
  const sizes = [];
  for (let bytes = low; bytes < high; bytes *= 8) sizes.push(bytes);
  if (costs.bytes > low && costs.bytes < high) sizes.push(costs.bytes);
  const runs = [];
  for (const bytes of [...new Set(sizes), high].sort((a, b) => a - b)) {
    const run = { bytes, line: predict(schedule, { ...costs, bytes }) };
    if (runs.length > 0) runs.push(...runsBetween(schedule, costs, runs.at(-1), run, 4));
    runs.push(run);
  }
  return (bytes) => {
    const after = runs.findIndex((run) => run.bytes >= bytes);
    if (after <= 0) return lineAt(runs.at(after).line, costs, bytes);
    return timeBetween(runs[after - 1], runs[after], costs, bytes);
  };
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
