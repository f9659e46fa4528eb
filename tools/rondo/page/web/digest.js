// Fingerprints of what the page saw, to compare with those of rondo's explainer in the page's data;
// tools/rondo/page/digest.h describes them.

/** FNV-1a, 32 bits, of ASCII text. */
function fingerprint(text) {
  let hash = 2166136261;
  for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return hash >>> 0;
}

const pieceText = (value) =>
  (value.fault === "undefined" ? "-" : `${value.chunk}:${value.set.toString(16)}`);

/** [phase, round, messages, fingerprint] of every round that has steps, in order. */
function roundDigests(play) {
  const rounds = new Map();
  const at = ({ phase, round }) => {
    const key = `${phase} ${round}`;
    if (!rounds.has(key)) rounds.set(key, { phase, round, lines: [] });
    return rounds.get(key);
  };
  play.writes.forEach(at);
  for (const message of play.messages)
    at(message).lines.push(`${message.from}>${message.to}/${message.lane} ` +
      message.values.map(pieceText).join(" "));
  return [...rounds.values()].sort((a, b) => a.phase - b.phase || a.round - b.round)
    .map(({ phase, round, lines }) =>
      [phase, round, lines.length, fingerprint(lines.sort().map((line) => `${line}\n`).join(""))]);
}

/** A fingerprint of every rank's output, whose chunks are `valueAt(rank, chunk)`. */
function outputsDigest(schedule, valueAt) {
  let words = "";
  for (let rank = 0; rank < schedule.ranks; ++rank) {
    const { first, count } = held(schedule, "output", rank);
    for (let i = 0; i < count; ++i) words += ` ${pieceText(valueAt(rank, first + i))}`;
    words += "\n";
  }
  return fingerprint(words);
}
