// The table of rounds says the same as the picture, for screen readers, for paper, and for readers
// who prefer tables. Up to 8 ranks are columns. With more ranks each round is one line.

const tableElement = (name, text = "", attributes = {}) => {
  const element = document.createElement(name);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

const mostColumns = 8;

function sentLines(messages, schedule) {
  const told = messages.slice(0, 3).map((message) =>
    `${cargoText(message, schedule)} → ${receiverText(message, schedule)}`);
  return told.join("; ") + (messages.length > 3 ? `; ${messages.length - 3} more` : "");
}

function wideRow(messages, schedule) {
  const row = tableElement("tr");
  for (let rank = 0; rank < schedule.ranks; ++rank) {
    const own = messages.filter((message) => message.from === rank);
    row.append(tableElement("td", own.length === 0 ? "–" : sentLines(own, schedule)));
  }
  return row;
}

function narrowRow(messages, schedule) {
  const row = tableElement("tr");
  const share = messages.reduce((sum, message) => sum + message.values.length, 0) / schedule.chunks;
  const sample = messages.slice(0, 3).map((message) =>
    `${message.from} → ${receiverText(message, schedule)}: ${cargoText(message, schedule)}`);
  row.append(tableElement("td", `${messages.length}`));
  if (schedule.hosts)
    row.append(tableElement("td", `${messages.filter((each) => crosses(schedule, each)).length}`));
  row.append(tableElement("td", `${threeDigits(share)} N`),
    tableElement("td", sample.join("; ") + (messages.length > 3 ? "; …" : "")));
  return row;
}

/** Each row is a round. A cell says what a rank sends, whose contributions it has, and to whom. */
function roundTable(replay) {
  const { schedule } = replay;
  const wide = schedule.ranks <= mostColumns;
  const table = tableElement("table", "", { class: "rounds" });
  const caption = `${collectiveTitle(schedule)} by ${algorithmTitle(schedule)} on ` +
    `${plural(schedule.ranks, "rank")}: what is sent in each round, “chunk contributors → receiver”`;
  table.append(tableElement("caption", caption));
  const head = tableElement("tr");
  const titles = wide ? Array.from({ length: schedule.ranks }, (_, rank) => rankText(schedule, rank))
    : ["messages", ...(schedule.hosts ? ["between hosts"] : []), "sent by all", "for example"];
  for (const title of ["round", ...titles]) head.append(tableElement("th", title, { scope: "col" }));
  const body = tableElement("tbody");
  for (const { label, messages } of replay.rounds) {
    const row = wide ? wideRow(messages, schedule) : narrowRow(messages, schedule);
    row.prepend(tableElement("th", label, { scope: "row" }));
    body.append(row);
  }
  const top = tableElement("thead");
  top.append(head);
  table.append(top, body);
  return table;
}

/** What a rank holds now: a row for each chunk. */
function holdingRows(replay, rank, numbers) {
  const { schedule } = replay;
  const full = fullCount(schedule);
  const rows = [];
  for (let chunk = 0; chunk < schedule.chunks; ++chunk) {
    const { best, all } = replay.cell(rank, chunk);
    const row = tableElement("tr");
    const swatch = tableElement("span", "", { class: "swatch", "aria-hidden": "true" });
    if (best !== null) swatch.style.background = chunkColours[colourIndex(schedule, best)];
    const name = tableElement("th", "", { scope: "row" });
    name.append(swatch, chunkName(chunk, schedule.chunks));
    const beside = best === null ? 0 : countBits(all & ~best.set);
    const state = best === null ? "nothing yet"
      : `${best.count >= full && full > 1 ? "✓ " : ""}${whoText(ranksOf(best.set), schedule.ranks)}` +
        (beside > 0 && full > 1 ? ` (and ${beside} beside it)` : "") +
        (numbers && hasNumbers(schedule) ? `: ${numbersText(best)}` : "");
    row.append(name, tableElement("td", state));
    rows.push(row);
  }
  return rows;
}
