// Where ranks stand: in their hosts, if the page has some. Else it follows the topology of the
// algorithm. Known algorithms have a row. Others are recognised by which rank sends to which.
// Positions lie within [0, 1] x [0, 1].

const layoutOfAlgorithm = {
  ring: "ring", bidirectional_ring: "ring", circulant: "circle",
  two_shot: "circle", pairwise: "circle", bruck: "circle", dissemination: "circle",
  double_tree: "tree", binomial_tree: "tree",
  recursive_doubling: "cube", chain: "line", one_shot: "star", linear: "star",
};

const layoutNames = { ring: "ring", circle: "circle", tree: "tree", cube: "hypercube",
  line: "line", star: "star", levels: "two levels" };

/** Distinct {from, to, lane} of a schedule's messages. */
function linksOf(schedule) {
  const links = new Map();
  schedule.lists.forEach((steps, index) => {
    const from = Math.floor(index / schedule.lanes);
    const lane = index % schedule.lanes;
    for (const { kind, peer } of steps)
      if (kind === "send") links.set(`${from} ${peer} ${lane}`, { from, to: peer, lane });
  });
  return [...links.values()];
}

/** Neighbours of every rank in either direction, in one lane, or in all lanes if `lane` is -1. */
function neighboursOf(links, ranks, lane) {
  const sets = Array.from({ length: ranks }, () => new Set());
  for (const link of links) {
    if (lane >= 0 && link.lane !== lane) continue;
    sets[link.from].add(link.to);
    sets[link.to].add(link.from);
  }
  return sets.map((set) => [...set].sort((a, b) => a - b));
}

/** The size of groups of consecutive ranks, if only their first ranks talk to others; 0: none. */
function groupSize(links, ranks) {
  for (let size = 2; size * 2 <= ranks; ++size) {
    if (ranks % size !== 0) continue;
    const across = links.filter(({ from, to }) =>
      Math.floor(from / size) !== Math.floor(to / size));
    if (across.length > 0 && across.length < links.length &&
        across.every(({ from, to }) => from % size === 0 && to % size === 0)) return size;
  }
  return 0;
}

function recogniseLayout(schedule, links) {
  const { ranks } = schedule;
  const neighbours = neighboursOf(links, ranks, -1);
  const edges = neighbours.reduce((sum, list) => sum + list.length, 0) / 2;
  const most = Math.max(...neighbours.map((list) => list.length));
  if (ranks > 3 && groupSize(links, ranks) > 0) return "levels";
  if (edges === ranks - 1) return most <= 2 ? "line" : most === ranks - 1 ? "star" : "tree";
  if (ranks > 4 && links.every(({ from, to }) => Math.log2(from ^ to) % 1 === 0)) return "cube";
  return neighbours.every((list) => list.length <= 2) ? "ring" : "circle";
}

function layoutKind(schedule, links) {
  if (schedule.hosts) return "hosts";
  const known = Object.hasOwn(layoutOfAlgorithm, schedule.algorithm);
  const kind = known ? layoutOfAlgorithm[schedule.algorithm] : recogniseLayout(schedule, links);
  const rooted = ["broadcast", "reduce", "scatter", "gather"].includes(schedule.collective);
  return kind === "star" && known && !rooted ? "circle" : kind;
}

/** Ranks stand evenly round an ellipse, clockwise from the top. Many stand along a rectangle. */
function circlePositions(ranks) {
  if (ranks === 1) return [{ x: 0.5, y: 0.5 }];
  if (ranks === 2) return [{ x: 0.15, y: 0.5 }, { x: 0.85, y: 0.5 }];
  if (ranks > 20) return Array.from({ length: ranks }, (_, rank) => onRectangle(rank / ranks));
  const fine = Array.from({ length: 721 }, (_, i) => {
    const angle = (i * Math.PI) / 360;
    return { x: 0.5 + 0.5 * Math.sin(angle), y: 0.5 - 0.5 * Math.cos(angle) };
  });
  const along = [0];  // the ellipse is twice as wide as high
  for (let i = 1; i < fine.length; ++i)
    along.push(along[i - 1] + Math.hypot((fine[i].x - fine[i - 1].x) * 2, fine[i].y - fine[i - 1].y));
  return Array.from({ length: ranks }, (_, rank) =>
    fine[along.findIndex((way) => way >= (along[720] * rank) / ranks - 1e-9)]);
}

/** Large rings go to and fro in rows and back up a column at the left: neighbours stay close. */
function ringPositions(ranks) {
  if (ranks <= 20) return circlePositions(ranks);
  const rows = 2 * Math.round(Math.sqrt(ranks) / 2);
  const columns = Math.floor((ranks - 1) / rows);
  const back = ranks - rows * columns;
  return Array.from({ length: ranks }, (_, rank) => {
    const row = Math.floor(rank / columns);
    if (row < rows) {
      const column = row % 2 === 0 ? rank % columns : columns - 1 - (rank % columns);
      return { x: (column + 1) / columns, y: row / (rows - 1) };
    }
    const place = rank - rows * columns;
    return { x: 0, y: back > 1 ? 1 - place / (back - 1) : 0.5 };
  });
}

/** The point on a rectangle's edge that is `part` of the way round. Wide sides count twice. */
function onRectangle(part) {
  const along = part * 6;
  if (along < 2) return { x: along / 2, y: 0 };
  if (along < 3) return { x: 1, y: along - 2 };
  if (along < 5) return { x: 1 - (along - 3) / 2, y: 1 };
  return { x: 0, y: 1 - (along - 5) };
}

function linePositions(ranks, root) {
  const columns = ranks <= 8 ? ranks : Math.ceil(Math.sqrt(ranks * 2));
  const rows = Math.ceil(ranks / columns);
  const places = Array.from({ length: ranks }, (_, i) => {
    const row = Math.floor(i / columns);
    const column = row % 2 === 0 ? i % columns : columns - 1 - (i % columns);
    return { x: columns > 1 ? column / (columns - 1) : 0.5, y: rows > 1 ? row / (rows - 1) : 0.5 };
  });
  return places.map((_, rank) => places[(rank - root + ranks) % ranks]);
}

/** Few ranks stand in a row below the one in the middle, which leaves more room for each. */
function starPositions(ranks, root) {
  if (ranks > 2 && ranks <= 5)
    return Array.from({ length: ranks }, (_, rank) => (rank === root ? { x: 0.5, y: 0 }
      : { x: ((rank - root - 1 + ranks) % ranks) / (ranks - 2), y: 1 }));
  const around = circlePositions(Math.max(3, ranks - 1));
  return Array.from({ length: ranks }, (_, rank) => {
    if (ranks === 2) return { x: rank === root ? 0.2 : 0.8, y: 0.5 };
    if (rank === root) return { x: 0.5, y: 0.5 };
    return around[(rank - root - 1 + ranks) % ranks];
  });
}

/** Bits of the rank number are directions. They give a square, a cube, two cubes, then a grid. */
function cubePositions(ranks) {
  const bits = Math.max(1, Math.ceil(Math.log2(ranks)));
  const small = [[1, 0], [0, 1], [0.5, -0.5], [2.1, 0]];
  const large = [[1, 0], [0, 1], [2, 0], [0, 2], [4, 0], [0, 4]];
  const directions = bits <= 4 ? small : large;
  const points = Array.from({ length: ranks }, (_, rank) => {
    const point = { x: 0, y: 0 };
    for (let bit = 0; bit < bits; ++bit) {
      if ((rank >> bit & 1) === 0) continue;
      point.x += directions[bit][0];
      point.y += directions[bit][1];
    }
    return point;
  });
  return normalised(points);
}

/** A tree with the root on top and leaves side by side. Parents stand above their children. */
function treePositions(schedule, links) {
  const neighbours = neighboursOf(links, schedule.ranks, 0);
  const rooted = ["broadcast", "reduce", "scatter", "gather"].includes(schedule.collective);
  const root = rooted ? schedule.root : 0;
  const points = Array.from({ length: schedule.ranks }, () => null);
  let leaves = 0;
  const place = (rank, parent, level) => {
    points[rank] = { x: 0, y: level };
    const children = neighbours[rank].filter((peer) => peer !== parent && points[peer] === null);
    const xs = children.map((child) => place(child, rank, level + 1));
    points[rank].x = xs.length > 0 ? (Math.min(...xs) + Math.max(...xs)) / 2 : leaves++;
    return points[rank].x;
  };
  place(root, -1, 0);
  points.forEach((point, rank) => { if (point === null) points[rank] = { x: leaves++, y: 0 }; });
  return normalised(points);
}

/** Ranks stand where the page's data puts them. */
function hostPositions({ hosts, ranks }) {
  const points = Array(ranks);
  for (const host of hosts)
    host.ranks.forEach((rank, i) => { points[rank] = { x: host.places[i][0], y: host.places[i][1] }; });
  return normalised(points);
}

/** Groups side by side, each a small circle. */
function levelPositions(ranks, size) {
  const groups = ranks / size;
  const centres = circlePositions(groups);
  const inside = circlePositions(size);
  return normalised(Array.from({ length: ranks }, (_, rank) => {
    const centre = centres[Math.floor(rank / size)];
    const own = inside[rank % size];
    return { x: centre.x * 2.2 + own.x * 0.9, y: centre.y * 1.8 + own.y * 0.9 };
  }));
}

function normalised(points) {
  const range = (values) => [Math.min(...values), Math.max(...values)];
  const [left, right] = range(points.map((point) => point.x));
  const [top, bottom] = range(points.map((point) => point.y));
  const part = (value, low, high) => (high > low ? (value - low) / (high - low) : 0.5);
  return points.map((point) => ({ x: part(point.x, left, right), y: part(point.y, top, bottom) }));
}

/** {kind, positions, links} of a schedule. */
function layoutOf(schedule) {
  const links = linksOf(schedule);
  const kind = layoutKind(schedule, links);
  const { ranks, root } = schedule;
  const positions = {
    ring: () => ringPositions(ranks),
    circle: () => circlePositions(ranks),
    line: () => linePositions(ranks, ["broadcast", "reduce", "send_recv"].includes(
      schedule.collective) ? root : 0),
    star: () => starPositions(ranks, root),
    cube: () => cubePositions(ranks),
    tree: () => treePositions(schedule, links),
    hosts: () => hostPositions(schedule),
    levels: () => levelPositions(ranks, groupSize(links, ranks)),
  }[kind]();
  return { kind, positions, links };
}

/**
 * The largest boxes at these positions with width : height = `shape`, at least `gap` apart, and the
 * frames of their hosts, which are apart, too.
 */
function fitBoxes(positions, width, height, shape, gap, hosts = []) {
  const { side, head } = hosts.length > 0 ? hostRim : { side: 0, head: 0 };
  let low = 6;
  let high = Math.min(210, width * 0.9, height * 0.6 * shape);
  const centres = (box) => positions.map(({ x, y }) => ({
    x: box / 2 + 3 + side + x * (width - box - 6 - 2 * side),
    y: box / shape / 2 + 3 + head + y * (height - box / shape - 6 - head - side) }));
  const framesOf = (box) => hostFrames(hosts, centres(box), { width: box, height: box / shape });
  const apart = (box) => {
    const points = centres(box);
    return points.every((a, i) => points.every((b, j) => j <= i ||
      Math.abs(a.x - b.x) >= box + gap || Math.abs(a.y - b.y) >= box / shape + gap)) &&
      framesApart(framesOf(box), 12);
  };
  for (let i = 0; i < 16; ++i) {
    const middle = (low + high) / 2;
    if (apart(middle)) low = middle;
    else high = middle;
  }
  return { width: low, height: low / shape, centres: centres(low), frames: framesOf(low) };
}
