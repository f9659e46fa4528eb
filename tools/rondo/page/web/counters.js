// How much each rank has sent so far, as a bar that fills. A line marks the least that the busiest
// rank must send, whatever the algorithm. Where hosts are known, they have bars for what leaves them.

/** What has left each host by now, in parts of the vector. */
function leavingHosts(replay, time) {
  const { schedule } = replay;
  const shares = replay.sharesAt(time, (message) => crosses(schedule, message));
  return schedule.hosts.map(({ ranks }) => ranks.reduce((sum, rank) => sum + shares[rank], 0));
}

const counterElement = (name, text = "") => tableElement("span", text, { class: name });

class Counters {
  constructor(element) { this.element = element.querySelector(".counters"); }

  show(replays, bytes) {
    this.bytes = bytes;
    const counted = replays.filter(({ schedule }) => !isToken(schedule.collective));
    const groups = counted.flatMap((replay) => this.groupsOf(replay));
    // The longest bar is the most that a rank or host sends, or the bound.
    const longest = groups.flatMap(({ replay, bound, shares }) => [...shares(replay.end), bound?.value ?? 0]);
    this.scale = Math.max(...longest, 1e-9) * 1.02;
    this.lists = groups.map((group) => this.makeList(group));
    this.element.replaceChildren(...this.lists.map(({ part }) => part));
    this.draw();
  }

  groupsOf(replay) {
    const { schedule } = replay;
    const title = algorithmTitle(schedule);
    const ranks = { replay, title, bound: schedule.bound?.sent, shares: (time) => replay.sharesAt(time),
      names: Array.from({ length: schedule.ranks }, (_, rank) => `rank ${rank}`) };
    if (!schedule.hosts) return [ranks];
    return [ranks, { replay, title: `${title}: between hosts`, shares: (time) => leavingHosts(replay, time),
      names: schedule.hosts.map((_, host) => `host ${host}`) }];
  }

  makeList({ replay, title, bound, shares, names }) {
    const part = tableElement("div");
    const list = tableElement("ol", "", { class: "counter", "aria-label": `Sent: ${title}` });
    list.classList.toggle("many", names.length > 16);
    const rows = names.map((name) => {
      const row = tableElement("li");
      const [track, fill, words] = ["track", "fill", "sent"].map((each) => counterElement(each));
      track.append(fill);
      if (bound?.value > 0) {
        const line = counterElement("bound");
        line.style.left = `${(100 * bound.value) / this.scale}%`;
        track.append(line);
      }
      row.append(counterElement("who", name), track, words);
      list.append(row);
      return { fill, words };
    });
    part.append(tableElement("h3", title), list);
    if (bound?.value > 0)
      part.append(tableElement("p", "The line is the least that the busiest rank of any algorithm must " +
        `send: ${bound.formula.replaceAll("-", "−")} N = ${threeDigits(bound.value)} N.`, { class: "hint" }));
    return { part, rows, replay, shares };
  }

  draw() {
    for (const { rows, replay, shares } of this.lists ?? [])
      shares(replay.time).forEach((share, i) => {
        rows[i].fill.style.width = `${(100 * share) / this.scale}%`;
        const text = `${threeDigits(share)} N = ${bytesText(share * this.bytes)}`;
        if (rows[i].words.textContent !== text) rows[i].words.textContent = text;
      });
  }
}
