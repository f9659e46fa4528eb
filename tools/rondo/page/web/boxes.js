// Draws one rank: its name and a bar for each chunk. A bar fills with contributions, one step for
// each rank. The stage uses it, and the details beside it draw the same bar larger.

/** Runs of consecutive ranks in a set: [first, count]. They are kept, since sets repeat. */
const runsOfSet = (() => {
  const known = new Map();
  return (set) => {
    if (known.has(set)) return known.get(set);
    const runs = [];
    for (const rank of ranksOf(set)) {
      const last = runs[runs.length - 1];
      if (last && last[0] + last[1] === rank) ++last[1];
      else runs.push([rank, 1]);
    }
    known.set(set, runs);
    return runs;
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

function drawBar(context, schedule, cell, bar, colours) {
  context.fillStyle = colours.empty;
  context.fillRect(bar.x, bar.y, bar.width, bar.height);
  if (cell.best === null) return;
  context.fillStyle = chunkColours[colourIndex(schedule, cell.best)];
  const beside = cell.all & ~cell.best.set;
  if (beside !== 0n && fullCount(schedule) > 1) {
    context.globalAlpha = 0.4;  // there, but not yet combined
    fillSteps(context, schedule, beside, bar);
    context.globalAlpha = 1;
  }
  fillSteps(context, schedule, cell.best.set, bar);
  if (cell.best.count >= fullCount(schedule) && bar.width >= 5) {
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.25;
    context.strokeRect(bar.x + 0.6, bar.y + 0.6, bar.width - 1.2, bar.height - 1.2);
  }
}

/** Where the bars of a box stand: a list of {x, y, width, height} by chunk. */
function barsOf(box, chunks) {
  const margin = Math.min(9, box.width * 0.07);
  const head = box.height >= 44 ? 19 : box.height >= 26 ? 11 : 1.5;
  const room = box.width - 2 * margin;
  const pitch = Math.min(room / chunks, 34);
  const foot = box.height >= 60 && pitch >= 10 ? 16 : margin;
  const gap = pitch >= 8 ? 3 : pitch >= 4 ? 1 : 0;
  const left = box.x + (box.width - pitch * chunks) / 2;
  return Array.from({ length: chunks }, (_, chunk) => ({ x: left + chunk * pitch + gap / 2,
    y: box.y + head, width: Math.max(0.5, pitch - gap), height: box.height - head - foot }));
}

function drawBoxText(context, schedule, rank, box, bars, complete, colours) {
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = colours.ink;
  if (box.height >= 26) {
    const large = box.height >= 44;
    context.font = `600 ${large ? 12 : 9}px system-ui, sans-serif`;
    const label = box.width >= 60 ? `rank ${rank}` : `${rank}`;
    context.fillText(label, box.x + box.width / 2, box.y + (large ? 10.5 : 6));
  }
  if (box.height < 60 || bars[0].width < 6.9) return;
  bars.forEach((bar, chunk) => {
    context.font = `${complete[chunk] ? 700 : 400} 11px system-ui, sans-serif`;
    context.fillStyle = complete[chunk] ? colours.ink : colours.quiet;
    context.fillText(chunkName(chunk, schedule.chunks), bar.x + bar.width / 2,
      box.y + box.height - 8);
  });
}

function drawBox(context, replay, rank, box, colours, chosen) {
  const { schedule } = replay;
  context.beginPath();
  context.roundRect(box.x, box.y, box.width, box.height, Math.min(8, box.width / 6));
  context.fillStyle = colours.card;
  context.fill();
  context.strokeStyle = chosen ? colours.accent : colours.line;
  context.lineWidth = chosen ? 2.5 : 1;
  context.stroke();
  const bars = barsOf(box, schedule.chunks);
  const complete = bars.map((bar, chunk) => {
    const cell = replay.cell(rank, chunk);
    drawBar(context, schedule, cell, bar, colours);
    return cell.best !== null && cell.best.count >= fullCount(schedule);
  });
  drawBoxText(context, schedule, rank, box, bars, complete, colours);
}
