// Time over size, with logarithmic axes. Each algorithm has a line. Marks show where the lines
// cross and the size that plays. A table beside it has the same numbers.

const chartSizes = { low: 8, high: 1 << 30 };
const chartBox = { width: 560, height: 300, left: 62, right: 14, top: 14, bottom: 40 };

const svgElement = (name, attributes, text = "") => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
};

/** Positions on the chart for a range of times. */
function chartScales(least, most) {
  const { width, height, left, right, top, bottom } = chartBox;
  const part = (value, low, high) =>
    (Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low) || 1);
  return {
    x: (bytes) => left + part(bytes, chartSizes.low, chartSizes.high) * (width - left - right),
    y: (time) => height - bottom - part(Math.max(time, least), least, most) * (height - top - bottom),
  };
}

class CostChart {
  constructor(element) {
    this.svg = element.querySelector("svg");
    this.words = element.querySelector(".crossing");
    this.table = element.querySelector("tbody");
    this.head = element.querySelector("thead tr");
  }

  /** Shows one or two schedules at these costs. */
  show(schedules, costs) {
    const { low, high } = chartSizes;
    const curves = schedules.map((schedule) => timeOverSize(schedule, costs, low, high));
    const crossings = curves.length < 2 ? [] : crossovers(curves[0], curves[1], low, high);
    const times = curves.flatMap((curve) => [curve(low), curve(high)]).filter((time) => time > 0);
    const decade = (time, round) => 10 ** round(Math.log10(time));
    const least = decade(Math.min(...times, 1e-3), Math.floor);
    const most = Math.max(decade(Math.max(...times, least), Math.ceil), least * 10);
    const scales = chartScales(least, most);
    this.svg.replaceChildren();
    this.grid(scales, least, most);
    curves.forEach((curve, i) => this.line(curve, i, scales));
    this.marks(curves, crossings, costs, scales);
    this.say(schedules, curves, crossings, costs);
    this.fillTable(schedules, curves);
  }

  add(name, attributes, text) { this.svg.append(svgElement(name, attributes, text)); }

  grid(scales, least, most) {
    const { width, height, left, right, top, bottom } = chartBox;
    for (let bytes = 8; bytes <= chartSizes.high; bytes *= 8) {
      const x = scales.x(bytes);
      this.add("line", { x1: x, x2: x, y1: top, y2: height - bottom, class: "grid" });
      if (Math.log2(bytes) % 6 === 0 || bytes === 8)
        this.add("text", { x, y: height - bottom + 16, "text-anchor": "middle" }, bytesText(bytes));
    }
    const every = Math.log10(most / least) > 6.5 ? 100 : 10;
    for (let time = least; time <= most * 1.01; time *= every) {
      const y = scales.y(time);
      this.add("line", { x1: left, x2: width - right, y1: y, y2: y, class: "grid" });
      this.add("text", { x: left - 7, y: y + 4, "text-anchor": "end" }, timeText(time));
    }
    this.add("text", { x: (left + width) / 2, y: height - 5, "text-anchor": "middle" }, "size N");
  }

  line(curve, index, scales) {
    const points = [];
    for (let power = 3; power <= 30; power += 0.25)
      points.push(`${scales.x(2 ** power).toFixed(1)},${scales.y(curve(2 ** power)).toFixed(1)}`);
    this.add("polyline", { points: points.join(" "), class: `curve curve-${index}` });
  }

  marks(curves, crossings, costs, scales) {
    const { height, top, bottom } = chartBox;
    if (costs.bytes >= chartSizes.low) {
      const x = scales.x(Math.min(costs.bytes, chartSizes.high));
      this.add("line", { x1: x, x2: x, y1: top, y2: height - bottom, class: "here" });
      this.add("text", { x: Math.min(x + 5, 470), y: top + 10, class: "here-text" }, "plays now");
      curves.forEach((curve, i) => this.add("circle", { cx: x, cy: scales.y(curve(costs.bytes)), r: 4,
        class: `dot dot-${i}` }));
    }
    for (const { bytes } of crossings) {
      const [x, y] = [scales.x(bytes), scales.y(curves[0](bytes))];
      this.add("path", { d: `M${x} ${y - 7}l7 7l-7 7l-7 -7z`, class: "cross" });
      this.add("text", { x: Math.min(x + 11, 480), y: y + 15, class: "cross-text" }, bytesText(bytes));
    }
  }

  say(schedules, curves, crossings, costs) {
    const names = schedules.map(algorithmTitle);
    if (curves.length < 2) {
      this.words.textContent = "Choose a second algorithm to see where they change places.";
      return;
    }
    const now = curves.map((curve) => curve(Math.max(costs.bytes, 1)));
    const same = Math.abs(now[0] / now[1] - 1) < 1e-6;
    const faster = now[0] <= now[1] ? 0 : 1;
    const factor = threeDigits(now[1 - faster] / now[faster]);
    const here = same ? "Here both take the same time."
      : `Here ${names[faster]} is ${factor} times as fast.`;
    const turns = crossings.map(({ bytes, faster: beyond }) =>
      `below ${bytesText(bytes)} ${names[1 - beyond]} wins, above it ${names[beyond]}`);
    this.words.textContent = turns.length === 0 && same ? here : turns.length === 0
      ? `${here} No size between ${bytesText(chartSizes.low)} and ${bytesText(chartSizes.high)} changes that.`
      : `${here} They change places: ${turns.join("; ")}.`;
  }

  fillTable(schedules, curves) {
    this.head.replaceChildren(tableElement("th", "size N"),
      ...schedules.map((schedule) => tableElement("th", algorithmTitle(schedule))));
    const rows = [];
    for (let bytes = 8; bytes <= chartSizes.high; bytes *= 8) {
      const row = tableElement("tr");
      row.append(tableElement("th", bytesText(bytes)),
        ...curves.map((curve) => tableElement("td", timeText(curve(bytes)))));
      rows.push(row);
    }
    this.table.replaceChildren(...rows);
  }
}
