// The stage: all ranks of one algorithm on a canvas, with a button over each for keyboard and
// screen reader. Parts that stand still are drawn on a second canvas, again only when they change.

/** The stage's height in pixels, for up to so many ranks. */
const stageHeights = [[2, 240], [4, 390], [8, 430], [20, 540], [Infinity, 660]];

class Stage {
  constructor(element, view, onChoose) {
    this.element = element;
    this.view = view;
    this.canvas = element.querySelector("canvas");
    this.picture = element.querySelector(".picture");
    this.buttons = element.querySelector(".ranks");
    this.heading = element.querySelector("h2");
    this.note = element.querySelector(".note");
    this.behind = document.createElement("canvas");
    this.onChoose = onChoose;
    this.chosen = -1;
    this.buttons.addEventListener("keydown", (event) => this.moveFocus(event));
  }

  show(replay) {
    const sameSchedule = this.replay?.schedule === replay.schedule;
    this.replay = replay;
    if (sameSchedule) {
      this.resize();
      return;
    }
    this.layout = layoutOf(replay.schedule);
    this.curves = new Map();
    this.makeButtons();
    this.resize();
    const { schedule } = replay;
    this.heading.textContent = `${collectiveTitle(schedule)}: ${algorithmTitle(schedule)}`;
    this.note.textContent = schedule.summary ?? "";
    const drawn = schedule.hosts ? `in boxes of ${schedule.hosts.length} hosts`
      : `as a ${layoutNames[this.layout.kind]}`;
    this.canvas.setAttribute("aria-label", `${plural(schedule.ranks, "rank")} drawn ` +
      `${drawn}; the table of rounds below says the same in words`);
  }

  makeButtons() {
    const { ranks } = this.replay.schedule;
    this.buttons.replaceChildren(...Array.from({ length: ranks }, (_, rank) => {
      const button = tableElement("button", "",
        { type: "button", tabindex: rank === 0 ? 0 : -1, "data-rank": rank });
      const choose = () => this.onChoose(this, rank);
      button.addEventListener("pointerenter", choose);
      button.addEventListener("focus", choose);
      return button;
    }));
  }

  /** Arrow keys move the focus from rank to rank within the stage. */
  moveFocus(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const all = [...this.buttons.children];
    const at = all.indexOf(document.activeElement);
    const next = all[(at + step + all.length) % all.length];
    all.forEach((button) => { button.tabIndex = button === next ? 0 : -1; });
    next.focus();
  }

  resize() {
    if (!this.replay) return;
    const { schedule } = this.replay;
    const width = this.picture.clientWidth;
    const tall = ["tree", "hosts"].includes(this.layout.kind) ? 60 : 0;
    const [, wanted] = stageHeights.find(([ranks]) => schedule.ranks <= ranks);
    const column = this.numbers && numbersInChunk(schedule) > 2;  // one number below the other
    const flat = this.layout.kind === "line" && schedule.ranks <= 8 && !column ? 0.6 : 1;
    // The player below it stays visible, and in a lesson something of the panels, too.
    const visible = Math.max(300, window.innerHeight - (document.body.matches(".told") ? 400 : 200));
    const height = Math.round(Math.min((wanted + tall) * flat, visible, Math.max(240, width * 1.15)));
    this.width = width;
    this.height = height;
    this.scale = Math.min(2, window.devicePixelRatio || 1);
    for (const canvas of [this.canvas, this.behind]) {
      canvas.width = Math.round(width * this.scale);
      canvas.height = Math.round(height * this.scale);
    }
    this.canvas.style.height = `${height}px`;
    const narrow = this.layout.kind === "tree" && schedule.ranks > 20;
    const { chunks } = schedule;
    const wide = this.spread ? 2 : chunks >= 12 ? 1.5 : 1.3;
    const shape = narrow ? 0.62 : column ? 0.95 : chunks >= 5 ? wide : 1.12;
    const close = schedule.ranks > 20 || (schedule.ranks > 8 && width < 700);
    const gap = narrow ? 5 : close ? 12 : schedule.ranks > 8 ? 24 : width < 600 || this.spread ? 30 : 44;
    this.boxes = fitBoxes(this.positionsWithin(width, height), width, height, shape, gap,
      schedule.hosts);
    this.curves.clear();
    this.plans = null;
    this.placeButtons();
    this.stale = true;
  }

  /** Limits the width of small rings and hosts. In a wide ring the links would look like a line. */
  positionsWithin(width, height) {
    const { kind, positions } = this.layout;
    const round = ["ring", "circle", "star", "cube", "hosts"].includes(kind) && positions.length <= 20;
    const most = (height * (positions.length > 8 ? 2.4 : 1.9)) / width;
    const part = round && !this.spread ? Math.min(1, most) : 1;
    return positions.map(({ x, y }) => ({ x: 0.5 + (x - 0.5) * part, y }));
  }

  get numbers() { return this.view.numbers && hasNumbers(this.replay.schedule); }

  /** Many numbers in a row need wide boxes, which need all of the stage's width. */
  get spread() { return this.numbers && this.replay.schedule.chunks >= 5; }

  box(rank) {
    const { x, y } = this.boxes.centres[rank];
    const { width, height } = this.boxes;
    return { x: x - width / 2, y: y - height / 2, width, height };
  }

  placeButtons() {
    [...this.buttons.children].forEach((button, rank) => {
      const box = this.box(rank);
      Object.assign(button.style, { left: `${box.x}px`, top: `${box.y}px`,
        width: `${box.width}px`, height: `${box.height}px` });
    });
  }

  /** Says what each rank holds, for readers who do not see the bars. */
  describe() {
    [...this.buttons.children].forEach((button, rank) => {
      button.setAttribute("aria-label", rankSentence(this.replay, rank));
    });
  }

  curve(from, to) {
    const key = from * this.replay.schedule.ranks + to;
    if (!this.curves.has(key))
      this.curves.set(key, curveBetween(this.boxes.centres[from], this.boxes.centres[to], this.boxes));
    return this.curves.get(key);
  }

  drawBehind(colours) {
    const context = this.behind.getContext("2d");
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    const { schedule } = this.replay;
    if (schedule.hosts) drawHosts(context, schedule.hosts, this.boxes.frames, colours);
    const { links } = this.layout;
    if (links.length <= 700) {
      context.globalAlpha = links.length > 120 ? 0.35 : 1;
      for (const link of links) {
        context.setLineDash(link.lane % 2 === 1 ? [4, 4] : []);
        context.strokeStyle = crosses(schedule, link) ? colours.quiet : colours.line;
        strokeCurve(context, this.curve(link.from, link.to));
      }
      context.setLineDash([]);
      context.globalAlpha = 1;
    }
    const view = { ...this.view, numbers: this.numbers };
    for (let rank = 0; rank < schedule.ranks; ++rank)
      drawBox(context, this.replay, rank, this.box(rank), colours, rank === this.chosen, view);
    this.drawnWrites = this.replay.applied;
    this.stale = false;
  }

  /** `settled`: the messages whose arrows stay while the clock stands still. */
  draw(colours, settled) {
    if (this.stale || this.drawnWrites !== this.replay.applied) this.drawBehind(colours);
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.behind, 0, 0);
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.save();
    this.drawMessages(context, colours, settled);
    context.restore();
  }

  drawMessages(context, colours, settled) {
    const { schedule, time } = this.replay;
    const { follow } = this.view;
    const flying = this.replay.flying();
    const shown = flying.length > 0 ? flying.filter(({ end }) => end >= time) : settled;
    const small = shown.length > 40 || this.boxes.width < 60;
    this.clipToLinks(context);
    context.globalAlpha = shown.length > 300 ? 0.35 : 0.9;
    const alpha = context.globalAlpha;
    for (const message of shown) {
      context.globalAlpha = carriesFollowed(schedule, follow, message) ? alpha : alpha * dimmed;
      drawArrow(context, this.curve(message.from, message.to), this.colourOf(message), small ? 1 : 2);
    }
    context.globalAlpha = 1;
    this.chips = flying.length > 0 ? this.flyingChips(flying, small)
      : this.restingChips(small ? [] : settled);
    for (const { message, text, rect, point } of this.chips) {
      if (text) drawChip(context, colourIndex(schedule, message.values[0]), text, rect, colours.card);
      else drawDot(context, this.colourOf(message), point, colours.card);
    }
  }

  /** Messages pass below the boxes of the ranks that they do not concern. */
  clipToLinks(context) {
    context.beginPath();
    context.rect(0, 0, this.width, this.height);
    this.boxes.centres.forEach((_, rank) => {
      const { x, y, width, height } = this.box(rank);
      context.rect(x, y, width, height);
    });
    context.clip("evenodd");
  }

  colourOf(message) { return chunkColours[colourIndex(this.replay.schedule, message.values[0])]; }

  placer() {
    const boxes = this.boxes.centres.map((_, rank) => this.box(rank));
    return new ChipPlacer(this.canvas.getContext("2d"), this.replay.schedule, boxes, this.numbers,
      { width: this.width, height: this.height });
  }

  /** Only chips of the chunk that is followed, if one is. */
  spotlit(messages) {
    return messages.filter((message) => carriesFollowed(this.replay.schedule, this.view.follow, message));
  }

  restingChips(settled) {
    return this.placer().atRest(this.spotlit(settled), ({ from, to }) => this.curve(from, to));
  }

  /** A message that has arrived, but is not taken yet, is a dot at the receiver's edge. */
  flyingChips(flying, small) {
    const { time } = this.replay;
    const seen = this.spotlit(flying);
    const moving = small ? [] : seen.filter(({ end }) => end >= time);
    const known = this.plans?.size === moving.length && moving.every((each) => this.plans.has(each));
    const curveOf = ({ from, to }) => this.curve(from, to);
    if (!known) this.plans = this.placer().inFlight(moving, curveOf);
    return seen.map((message) => {
      const plan = this.plans.get(message) ?? { text: "", from: 0, to: 1, curve: curveOf(message) };
      const point = chipPoint(message, plan, time);
      return { message, point, text: plan.text, rect: plan.text ? rectangle(point, plan.width) : null };
    });
  }
}
