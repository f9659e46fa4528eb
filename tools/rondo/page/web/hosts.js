// The hosts of ranks: which rank lives where, and their boxes on the stage. tools/rondo/page/data.cc
// writes a page's hosts; a page without a topology has none.

/** The schedule with the page's hosts and links, if those are of as many ranks. */
function onHosts(schedule, { hosts = [], network }) {
  const hostOf = [];
  hosts.forEach(({ ranks }, host) => { for (const rank of ranks) hostOf[rank] = host; });
  return hostOf.length === schedule.ranks ? { ...schedule, hosts, hostOf, network } : schedule;
}

/** Whether a message goes from one host to another. */
const crosses = ({ hostOf }, { from, to }) => hostOf !== undefined && hostOf[from] !== hostOf[to];

/** "4 on host 1", the receiver of a message. The host is named if it is another one. */
const receiverText = (message, schedule) => (crosses(schedule, message)
  ? `${message.to} on host ${schedule.hostOf[message.to]}` : `${message.to}`);

/** "rank 2 on host 0"; "rank 2" where hosts are not known. */
const rankText = ({ hostOf }, rank) =>
  `rank ${rank}${hostOf === undefined ? "" : ` on host ${hostOf[rank]}`}`;

/** From the ranks to the edge of their host. Its name stands above them. */
const hostRim = { side: 9, head: 25 };

/** The rectangle round the ranks of each host. */
function hostFrames(hosts, centres, { width, height }) {
  return hosts.map(({ ranks }) => {
    const xs = ranks.map((rank) => centres[rank].x);
    const ys = ranks.map((rank) => centres[rank].y);
    const left = Math.min(...xs) - width / 2 - hostRim.side;
    const top = Math.min(...ys) - height / 2 - hostRim.head;
    return { x: left, y: top, width: Math.max(...xs) + width / 2 + hostRim.side - left,
      height: Math.max(...ys) + height / 2 + hostRim.side - top };
  });
}

/** Whether any two frames have so much room between them. */
const framesApart = (frames, room) => frames.every((a, i) => frames.every((b, j) => j <= i ||
  a.x + a.width + room <= b.x || b.x + b.width + room <= a.x ||
  a.y + a.height + room <= b.y || b.y + b.height + room <= a.y));

function drawHosts(context, hosts, frames, colours) {
  frames.forEach((frame, host) => {
    context.beginPath();
    context.roundRect(frame.x, frame.y, frame.width, frame.height, 10);
    context.fillStyle = colours.empty;
    context.globalAlpha = 0.5;  // lines within the host stay visible
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.stroke();
    context.font = "600 12px system-ui, sans-serif";
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillStyle = colours.ink;
    context.fillText(hosts[host].name, frame.x + hostRim.side, frame.y + hostRim.head / 2,
      frame.width - 2 * hostRim.side);
  });
}
