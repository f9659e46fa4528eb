// A recorded run: the messages and writes of the schedule, at the times at which they really
// happened. tools/rondo/trace/real_page.cc describes schedule.real.

/** Seconds. */
const fromNanoseconds = (time) => time * 1e-9;

/** A message's own times, by its place in its channel. Null for a message without bytes. */
function realTimes(real) {
  const next = new Map();
  return ({ from, to, lane }) => {
    const key = `${from}>${to}/${lane}`;
    const at = next.get(key) ?? 0;
    next.set(key, at + 3);
    const [begin, length, settling] = (real.channels[key] ?? []).slice(at, at + 3);
    if (typeof begin !== "number") return null;
    return { begin: fromNanoseconds(begin), end: fromNanoseconds(begin + length),
      settled: fromNanoseconds(begin + length + settling) };
  };
}

/**
 * The play with recorded times, where there are any. A trace does not record what a rank makes of
 * its own memory alone. That gets the time of the last message that the rank received.
 */
function asItRan(play) {
  const { schedule } = play;
  const { real } = schedule;
  if (!real) return play;
  const timesOf = realTimes(real);
  const known = new Map();
  for (const message of play.messages) known.set(message, timesOf(message));
  const last = new Map();
  const writes = play.writes.map((write) => {
    const lane = write.rank * schedule.lanes + write.lane;
    const times = write.message === null ? null : known.get(write.message);
    const time = Math.max(last.get(lane) ?? 0, times === null ? 0 : times.settled);
    last.set(lane, time);
    return { ...write, time };
  });
  const messages = play.messages.filter((message) => known.get(message) !== null)
    .map((message) => ({ ...message, ...known.get(message) }));
  const settled = messages.reduce((most, message) => Math.max(most, message.settled), 0);
  const end = { ...play.end, t: Math.max(fromNanoseconds(real.took), settled) };
  return { ...play, messages, writes, end };
}

/** What the trace says of the call. It stands in the place of a cost line. */
function realElement(replay) {
  const { schedule } = replay;
  const text = tableElement("pre", schedule.real.words.join("\n"), { class: "real-words" });
  text.tabIndex = 0;
  return text;
}
