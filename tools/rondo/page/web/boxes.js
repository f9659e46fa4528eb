// Draws one rank: its name and a bar for each chunk. A bar fills with contributions, one step for
// each rank. With numbers, the bar is a strip at the edge, and beside it stand the chunk's sums.

/** Runs of consecutive ranks in a set: [first, count]. They are kept, since sets repeat. */
const runsOfSet = (() => {
  const known = new Map();
  return (set) => {
    if (!known.has(set)) known.set(set, runsOf(ranksOf(set)).map((run) => [run[0], run.length]));
    return known.get(set);
  };
})();

/** The number of contributions that make a value complete. */
const fullCount = (schedule) => (collectives[schedule.collective].reduces ? schedule.ranks : 1);

/** Fills the steps of a bar that a set of ranks accounts for. */
function fillSteps(context, schedule, set, bar) {
  const steps = fullCount(schedule);
  if (countBits(set) >= steps) {
    context.fillRect(bar.x, bar.y, bar.width, bar.height);
    return;
  }
  const height = bar.height / steps;
  const gap = height >= 4 ? 1 : 0;
  for (const [first, count] of runsOfSet(set)) {
    if (gap === 0) {
      context.fillRect(bar.x, bar.y + bar.height - (first + count) * height, bar.width, count * height);
      continue;
    }
    for (let rank = first; rank < first + count; ++rank)
      context.fillRect(bar.x, bar.y + bar.height - (rank + 1) * height + gap / 2, bar.width,
        height - gap);
  }
}

/** The strip of a bar with numbers. The numbers have the rest. */
const stripOf = (bar) => ({ ...bar, width: Math.min(7, bar.width * 0.17) });

/** The size in which a bar has room for numbers of two digits; 0: for none that one can read. */
function numberSize(schedule, bar) {
  const row = bar.height / numbersInChunk(schedule);
  const size = Math.floor(Math.min(16, row * 0.85, (bar.width - stripOf(bar).width - 2) / 1.36));
  return size >= 9 ? size : 0;
}

/** The numbers of a chunk, one below the other. Those that have just changed are bold. */
function drawNumbers(context, cell, bar, size, fresh, colours) {
  const strip = stripOf(bar);
  const { numbers } = cell.best;
  const row = bar.height / numbers.length;
  const room = bar.width - strip.width - 2;
  context.font = `${fresh ? 700 : 400} ${size}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = fresh ? colours.accent : colours.ink;
  numbers.forEach((number, i) => context.fillText(`${number}`, bar.x + strip.width + 1 + room / 2,
    bar.y + (i + 0.5) * row + 0.5));
}

function drawBar(context, schedule, cell, bar, colours) {
  if (cell.best === null) return;
  context.fillStyle = chunkColours[colourIndex(schedule, cell.best)];
  const beside = cell.all & ~cell.best.set;
  if (beside !== 0n && fullCount(schedule) > 1) {
    const alpha = context.globalAlpha;
    context.globalAlpha = alpha * 0.4;  // there, but not yet combined
    fillSteps(context, schedule, beside, bar);
    context.globalAlpha = alpha;
  }
  fillSteps(context, schedule, cell.best.set, bar);
}

/** Where the bars of a box stand: a list of {x, y, width, height} by chunk. */
function barsOf(box, chunks, view) {
  const margin = Math.min(9, box.width * (view.numbers ? 0.03 : 0.07));
  const head = box.height >= 44 ? 19 : box.height >= 26 ? 11 : 1.5;
  const room = box.width - 2 * margin;
  const pitch = Math.min(room / chunks, view.numbers ? 46 : 34);
  const foot = box.height >= 60 && pitch >= 10 ? 16 : margin;
  const gap = view.whole ? 0 : pitch >= 8 ? (view.numbers && pitch < 26 ? 2 : 3) : pitch >= 4 ? 1 : 0;
  const left = box.x + (box.width - pitch * chunks) / 2;
  return Array.from({ length: chunks }, (_, chunk) => ({ x: left + chunk * pitch + gap / 2,
    y: box.y + head, width: Math.max(0.5, pitch - gap), height: box.height - head - foot }));
}

function drawRankName(context, rank, box, colours) {
  if (box.height < 26) return;
  const large = box.height >= 44;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = colours.ink;
  context.font = `600 ${large ? 12 : 9}px system-ui, sans-serif`;
  const label = box.width >= 60 ? `rank ${rank}` : `${rank}`;
  context.fillText(label, box.x + box.width / 2, box.y + (large ? 10.5 : 6));
}

function drawChunkName(context, name, box, bar, complete, colours) {
  if (box.height < 60 || bar.width < 6.9) return;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = `${complete ? 700 : 400} 11px system-ui, sans-serif`;
  context.fillStyle = complete ? colours.ink : colours.quiet;
  context.fillText(name, bar.x + bar.width / 2, box.y + box.height - 8);
}

function drawCell(context, replay, rank, chunk, box, bar, colours, view) {
  const { schedule } = replay;
  const cell = replay.cell(rank, chunk);
  const size = view.numbers ? numberSize(schedule, bar) : 0;
  const complete = cell.best !== null && cell.best.count >= fullCount(schedule);
  context.globalAlpha = isFollowed(schedule, view.follow, chunk) ? 1 : dimmed;
  context.fillStyle = colours.empty;
  context.fillRect(bar.x, bar.y, bar.width, bar.height);
  if (!view.whole) {
    drawBar(context, schedule, cell, size > 0 ? stripOf(bar) : bar, colours);
    drawChunkName(context, chunkName(chunk, schedule.chunks), box, bar, complete, colours);
    if (complete && bar.width >= 5) {
      context.strokeStyle = colours.ink;
      context.lineWidth = 1.25;
      context.strokeRect(bar.x + 0.6, bar.y + 0.6, bar.width - 1.2, bar.height - 1.2);
    }
  }
  if (size > 0 && cell.best !== null)
    drawNumbers(context, cell, bar, size, replay.isFresh(cell), colours);
  context.globalAlpha = 1;
}

/** `view`: {numbers, whole: not yet cut into chunks, follow: the part that stays bright}. */
function drawBox(context, replay, rank, box, colours, chosen, view) {
  const { schedule } = replay;
  context.beginPath();
  context.roundRect(box.x, box.y, box.width, box.height, Math.min(8, box.width / 6));
  context.fillStyle = colours.card;
  context.fill();
  context.strokeStyle = chosen ? colours.accent : colours.line;
  context.lineWidth = chosen ? 2.5 : 1;
  context.stroke();
  drawRankName(context, rank, box, colours);
  barsOf(box, schedule.chunks, view).forEach((bar, chunk) =>
    drawCell(context, replay, rank, chunk, box, bar, colours, view));
}
