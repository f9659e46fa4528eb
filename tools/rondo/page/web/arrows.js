// The ways of messages on the stage: a curve from box to box, and an arrow head.

/** A curve from one box to another, bent to the right so that both directions stay apart. */
function curveBetween(from, to, box) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const length = Math.hypot(dx, dy) || 1;
  const bend = Math.min(26, length * 0.12);
  const middle = { x: (from.x + to.x) / 2 - (dy / length) * bend,
    y: (from.y + to.y) / 2 + (dx / length) * bend };
  const at = (part) => {
    const rest = 1 - part;
    return { x: rest * rest * from.x + 2 * rest * part * middle.x + part * part * to.x,
      y: rest * rest * from.y + 2 * rest * part * middle.y + part * part * to.y };
  };
  const within = (point, centre) => Math.abs(point.x - centre.x) < box.width / 2 + 3 &&
    Math.abs(point.y - centre.y) < box.height / 2 + 3;
  let begin = 0;
  let end = 1;
  while (begin < 0.5 && within(at(begin), from)) begin += 0.02;
  while (end > begin + 0.04 && within(at(end), to)) end -= 0.02;
  const points = Array.from({ length: 13 }, (_, i) => at(begin + ((end - begin) * i) / 12));
  return { points, at: (part) => at(begin + (end - begin) * part) };
}

function strokeCurve(context, curve) {
  context.beginPath();
  curve.points.forEach((point, i) =>
    (i === 0 ? context.moveTo(point.x, point.y) : context.lineTo(point.x, point.y)));
  context.stroke();
}

function drawArrow(context, curve, colour, width) {
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = width;
  strokeCurve(context, curve);
  const tip = curve.points[12];
  const before = curve.points[10];
  const angle = Math.atan2(tip.y - before.y, tip.x - before.x);
  const size = 5 + width * 1.5;
  context.beginPath();
  context.moveTo(tip.x, tip.y);
  for (const side of [-0.45, 0.45])
    context.lineTo(tip.x - size * Math.cos(angle + side), tip.y - size * Math.sin(angle + side));
  context.fill();
}
