// The page's state: which schedules are shown, at which costs, at which instant. Every change goes
// through here, so that all parts of the page agree.

const byId = (id) => document.getElementById(id);

class App {
  constructor(data) {
    this.data = data;
    this.worlds = new Worlds(data);
    this.schedules = this.worlds.at(data.schedules[0].ranks);
    this.costs = { alpha: data.alpha, beta: data.beta, gamma: data.gamma, bytes: data.bytes,
      networkAlpha: (data.network ?? data).alpha, networkBeta: (data.network ?? data).beta };
    this.shown = data.compared >= 0 ? [0, data.compared] : [0];
    this.byRounds = true;  // where two are compared
    this.view = { numbers: this.schedules[0].ranks <= 5 && hasNumbers(this.schedules[0]), whole: false,
      follow: null };
    const stages = [...document.querySelectorAll(".stage")];
    this.stages = stages.map((element) =>
      new Stage(element, this.view, (stage, rank) => this.choose(stage, rank)));
    const axes = [...document.querySelectorAll(".axis")];
    this.axes = axes.map((element, i) => new TimeAxis(element, (time) =>
      this.player.seek(this.pace.position(this.replays[i], time))));
    this.chart = new CostChart(byId("chart"));
    this.counters = new Counters(byId("bytes"));
    this.player = new Player(() => this.timeChanged(), () => this.cameToRest());
    this.follow = new FollowChoice(byId("follow"), (part) => this.changeView({ follow: part }));
    this.chosen = { stage: 0, rank: 0 };
    this.replays = [];
  }

  /** The costs for a schedule. A barrier carries no bytes. */
  costsOf(schedule) {
    return { ...this.costs, bytes: isToken(schedule.collective) ? 0 : this.costs.bytes };
  }

  /** Shows other algorithms, by their index, from the start. */
  showAlgorithms(shown) {
    this.shown = shown;
    this.player.playing = false;
    this.player.time = 0;
    this.replay();
    this.onChoice?.();
  }

  /** The same algorithms for another number of ranks, as far as the page has them. */
  setRanks(ranks) {
    const names = this.shown.map((index) => this.schedules[index].algorithm);
    this.schedules = this.worlds.at(ranks);
    const found = names.map((name) => this.schedules.findIndex(({ algorithm }) => algorithm === name));
    const shown = found.filter((index) => index >= 0);
    this.showAlgorithms(shown.length > 0 ? shown : [0]);
  }

  changeView(changes) {
    Object.assign(this.view, changes);
    this.sayView();
    for (const stage of this.stages) stage.resize();
    for (const axis of this.axes) axis.follow(this.view.follow);
    this.draw();
    this.showDetails();
  }

  sayView() {
    const numbers = this.view.numbers && this.replays.some((replay) => hasNumbers(replay.schedule));
    document.body.classList.toggle("with-numbers", numbers);
  }

  /** Call it after another choice of algorithms, or for other costs. */
  replay() {
    const shown = this.shown.map((index) => this.schedules[index]);
    const sameFirst = this.replays[0]?.schedule === shown[0];
    this.replays = shown.map((schedule) =>
      new Replay(asItRan(playSchedule(schedule, this.costsOf(schedule)))));
    this.pace = this.byRounds && shown.length > 1 ? new RoundPace(this.replays) : new ClockPace(this.replays);
    document.body.classList.toggle("comparing", shown.length > 1);
    document.body.classList.toggle("real", shown.every((schedule) => schedule.real));
    this.stages.forEach((stage, i) => { stage.element.hidden = i >= shown.length; });
    this.axes.forEach((axis, i) => { axis.canvas.parentElement.hidden = i >= shown.length; });
    const end = Math.max(...this.replays.map((replay) => replay.end), 1e-12);
    this.replays.forEach((replay, i) => {
      this.stages[i].show(replay);
      this.axes[i].show(replay, end);
    });
    if (!sameFirst) this.follow.show(shown[0]);
    this.sayView();
    this.counters.show(this.replays, this.costs.bytes);
    this.player.retime(this.pace.stops, this.pace.end);
    this.sayCosts();
    this.scheduleChart();
  }

  /** Draws the chart, which needs runs of its own, once the sliders have rested for 60 ms. */
  scheduleChart() {
    clearTimeout(this.chartTimer);
    this.chartTimer = setTimeout(() => this.drawChart(), 60);
  }
  drawChart() {
    const predicted = this.shown.map((index) => this.schedules[index]).filter((each) => !each.real);
    if (predicted.length > 0) this.chart.show(predicted, this.costs);
  }

  resize() {
    for (let i = 0; i < this.replays.length; ++i) {
      this.stages[i].resize();
      this.axes[i].resize();
    }
    this.draw();
  }

  recolour() {
    this.colours = themeColours();
    for (const part of [...this.stages, ...this.axes]) part.stale = true;
    if (this.replays.length > 0) this.draw();
  }

  timeChanged() {
    for (const replay of this.replays) replay.seek(this.pace.instant(replay, this.player.time));
    this.draw();
    this.onTime?.();
  }

  cameToRest() {
    this.stages.forEach((stage, i) => { if (this.replays[i]) stage.describe(); });
    this.showDetails();
    this.onRest?.();
  }

  /** Messages that ended since the stop before this instant. */
  settled(replay) {
    const { player } = this;
    return replay.settledWithin(this.pace.instant(replay, player.previousStop()), replay.time);
  }

  draw() {
    if (!this.colours) return;
    this.replays.forEach((replay, i) => {
      this.stages[i].draw(this.colours, this.settled(replay));
      this.axes[i].draw(this.colours, replay.time);
    });
    this.counters.draw();
  }

  choose(stage, rank) {
    this.chosen = { stage: this.stages.indexOf(stage), rank };
    this.stages.forEach((each) => {
      each.chosen = each === stage ? rank : -1;
      each.stale = true;
    });
    this.draw();
    this.showDetails();
  }

  showDetails() {
    const replay = this.replays[this.chosen.stage] ?? this.replays[0];
    if (!replay) return;
    const rank = Math.min(this.chosen.rank, replay.schedule.ranks - 1);
    const messages = replay.messagesSentBy(rank);
    const share = replay.sharesAt(replay.time)[rank];
    const of = this.replays.length > 1 ? ` of ${algorithmTitle(replay.schedule)}` : "";
    byId("rank-title").textContent = `R${rankText(replay.schedule, rank).slice(1)}${of}`;
    byId("rank-sent").textContent = isToken(replay.schedule.collective)
      ? `sent so far: ${plural(messages, "message")}`
      : `sent so far: ${plural(messages, "message")}, ${threeDigits(share)} N = ` +
        `${bytesText(share * this.costs.bytes)}`;
    byId("rank-chunks").replaceChildren(...holdingRows(replay, rank, this.view.numbers));
  }

  /** The caption: where the player stands, then what happened last in every algorithm shown. */
  captions() {
    const { player } = this;
    const place = player.time <= 0 ? "Start." : player.time >= player.end ? "End." : this.pace.place(player);
    const all = this.replays.map((replay) => {
      const name = this.replays.length > 1 ? `${algorithmTitle(replay.schedule)}: ` : "";
      return `${name}${this.captionOf(replay)}`;
    });
    return all.length > 1 ? [place, ...all] : [`${place} ${all[0]}`];
  }

  captionOf(replay) {
    const { time } = this.player;
    if (time <= 0) return "Every rank holds its own input.";
    if (this.pace.isOver(replay, time)) return `done since ${timeText(replay.end)}.`;
    const told = (messages) =>
      messages.filter((each) => carriesFollowed(replay.schedule, this.view.follow, each));
    const settled = told(this.settled(replay));
    const numbers = this.view.numbers && hasNumbers(replay.schedule);
    return settled.length > 0 ? roundSentence(replay, settled, false, numbers)
      : roundSentence(replay, told(replay.flying()), true, numbers);
  }

  sayCosts() {
    const lines = this.replays.map((replay) => (replay.schedule.real ? realElement(replay)
      : tableElement("p", costSentence(replay, this.costs))));
    byId("cost-lines").replaceChildren(...lines);
  }
}

/** The cost line with the numbers put in, and what no algorithm can beat. */
function costSentence(replay, costs) {
  const { schedule, play } = replay;
  const { cost, counts, bound } = schedule;
  const formula = (text) => text.replaceAll("-", "−");
  const { messages, crossings, bytes, crossed, reduced, t } = play.end;
  const terms = [];
  if (messages > 0 || crossings === 0) terms.push(`${threeDigits(messages)} × ${timeText(costs.alpha)}`);
  if (crossings > 0) terms.push(`${threeDigits(crossings)} × ${timeText(costs.networkAlpha)} between hosts`);
  const shares = [[bytes, costs.beta], [crossed, costs.networkBeta], [reduced, costs.gamma]];
  for (const [share, beta] of shares)
    if (share > 0 && beta > 0 && !isToken(schedule.collective))
      terms.push(`${threeDigits(share)} N ÷ ${rateText(1 / beta)}`);
  let words = `${algorithmTitle(schedule)}: ${terms.join(" + ")} = ${timeText(t)}.`;
  if (cost && counts)
    words += ` Rounds ${formula(cost.rounds)} = ${threeDigits(counts.rounds)}; the busiest rank sends ` +
      `${formula(cost.sent)} N = ${threeDigits(counts.sent)} N.`;
  if (bound?.rounds)
    words += ` Nothing can do with fewer than ${plural(bound.rounds.value, "round")}` +
      (bound.sent.value > 0 ? ` or ${threeDigits(bound.sent.value)} N.` : ".");
  return words;
}
