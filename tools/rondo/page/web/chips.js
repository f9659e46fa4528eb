// What travels, as a chip on its curve: the chunk, and whose contributions or which numbers it has.
// A chip never covers another one or a rank's box. Where there is no room for it, a chip has the
// chunk's name alone, and where there is no room for that, it is a dot.

const chipHeight = 18;
const chipForms = ["long", "short"];
const dotRadius = 4.5;

const rectangle = (centre, width, height = chipHeight) => ({ x: centre.x - width / 2,
  y: centre.y - height / 2, width, height });
const alongCurve = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8];
const overlap = (a, b, room = 1) => a.x < b.x + b.width + room && b.x < a.x + a.width + room &&
  a.y < b.y + b.height + room && b.y < a.y + a.height + room;

function chipText(message, schedule, form, numbers) {
  const chunks = chunksText(message.values, schedule.chunks);
  if (form === "short") return chunks;
  if (!numbers || message.values.length > 2) return cargoText(message, schedule, true);
  const sums = message.values.map(numbersText).join(" ");
  return schedule.chunks === 1 ? sums : `${chunks}: ${sums}`;
}

/** Chooses forms and places for the chips of one stage. `boxes`: the rectangles of its ranks. */
class ChipPlacer {
  constructor(context, schedule, boxes, numbers, bounds) {
    this.schedule = schedule;
    this.boxes = boxes;
    this.numbers = numbers;
    this.bounds = bounds;
    this.measure = (text) => {
      context.font = "600 11px system-ui, sans-serif";
      return context.measureText(text).width + 12;
    };
  }

  free(rect, others) {
    const { width, height } = this.bounds;
    return rect.x >= 0 && rect.y >= 0 && rect.x + rect.width <= width && rect.y + rect.height <= height &&
      !this.boxes.some((box) => overlap(rect, box)) && !others.some((other) => overlap(rect, other));
  }

  /** The parts of a curve between which a chip is clear of the two boxes at its ends, or null. */
  range(curve, width, message) {
    const ends = [this.boxes[message.from], this.boxes[message.to]];
    const clear = (part) => !ends.some((box) => overlap(rectangle(curve.at(part), width), box));
    const parts = Array.from({ length: 33 }, (_, i) => i / 32).filter(clear);
    return parts.length === 0 ? null : { from: parts[0], to: parts[parts.length - 1] };
  }

  /** Chips of messages that have arrived: each at the first free place along its curve. */
  atRest(messages, curveOf) {
    const placed = [];
    return messages.map((message) => {
      const curve = curveOf(message);
      for (const form of chipForms) {
        const text = chipText(message, this.schedule, form, this.numbers);
        const width = this.measure(text);
        for (const part of alongCurve) {
          const rect = rectangle(curve.at(part), width);
          if (!this.free(rect, placed)) continue;
          placed.push(rect);
          return { message, text, rect, point: curve.at(part) };
        }
      }
      return { message, text: "", rect: null, point: this.dotPoint(curve, placed) };
    });
  }

  /** Dots may lie on boxes that their curve crosses, but not on chips. */
  dotPoint(curve, placed) {
    const dot = (part) => rectangle(curve.at(part), 2 * dotRadius, 2 * dotRadius);
    const part = alongCurve.find((each) => !placed.some((chip) => overlap(dot(each), chip)));
    return curve.at(part ?? 0.5);
  }

  /** By message, a form that has room all the way while these are flying, and where it moves. */
  inFlight(messages, curveOf) {
    const from = Math.max(...messages.map(({ begin }) => begin));
    const to = Math.min(...messages.map(({ end, settled }) => (end > from ? end : settled)));
    const times = Array.from({ length: 41 }, (_, i) => from + ((to - from) * i) / 40);
    const taken = times.map(() => []);
    const plans = new Map();
    for (const message of messages) {
      const curve = curveOf(message);
      const plan = this.roomyPlan(message, curve, times, taken) ?? { text: "", from: 0, to: 1 };
      plans.set(message, { ...plan, curve });
      if (plan.text) times.forEach((time, i) => taken[i].push(chipRect(message, { ...plan, curve }, time)));
    }
    return plans;
  }

  roomyPlan(message, curve, times, taken) {
    for (const form of chipForms) {
      const text = chipText(message, this.schedule, form, this.numbers);
      const width = this.measure(text);
      const range = this.range(curve, width, message);
      if (range === null) continue;
      const plan = { text, width, curve, ...range };
      if (times.every((time, i) => this.free(chipRect(message, plan, time), taken[i]))) return plan;
    }
    return null;
  }
}

/** Where a message is at an instant: the part of its way, and the point on its curve. */
function chipPoint(message, plan, time) {
  const part = Math.min(1, Math.max(0, (time - message.begin) / (message.end - message.begin || 1)));
  return plan.curve.at(plan.from + (plan.to - plan.from) * part);
}
const chipRect = (message, plan, time) => rectangle(chipPoint(message, plan, time), plan.width);

function drawDot(context, colour, point, edge) {
  context.fillStyle = colour;
  context.strokeStyle = edge;
  context.lineWidth = 1.5;
  context.beginPath();
  context.arc(point.x, point.y, dotRadius, 0, 7);
  context.fill();
  context.stroke();
}

function drawChip(context, index, text, rect, edge) {
  context.font = "600 11px system-ui, sans-serif";
  context.fillStyle = chunkColours[index];
  context.strokeStyle = edge;
  context.lineWidth = 1.5;
  context.beginPath();
  context.roundRect(rect.x, rect.y, rect.width, rect.height, chipHeight / 2);
  context.fill();
  context.stroke();
  context.fillStyle = inkOnChunk[index];
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, rect.x + rect.width / 2, rect.y + chipHeight / 2 + 0.5);
}
