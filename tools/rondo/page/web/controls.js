// Joins the page's controls to its state: buttons, sliders, choices, and the keys of the keyboard.

/** Sliders run over powers of ten (or two), so that all decades are equally wide. */
const sliders = {
  alpha: { get: (costs) => Math.log10(costs.alpha), set: (costs, value) => { costs.alpha = 10 ** value; },
    text: (costs) => timeText(costs.alpha) },
  bandwidth: { get: (costs) => -Math.log10(costs.beta),
    set: (costs, value) => { costs.beta = 10 ** -value; },
    text: (costs) => rateText(1 / costs.beta) },
  reducing: { get: (costs) => -Math.log10(costs.gamma),
    set: (costs, value) => { costs.gamma = 10 ** -value; },
    text: (costs) => rateText(1 / costs.gamma) },
  "network-alpha": { get: (costs) => Math.log10(costs.networkAlpha),
    set: (costs, value) => { costs.networkAlpha = 10 ** value; },
    text: (costs) => timeText(costs.networkAlpha) },
  "network-bandwidth": { get: (costs) => -Math.log10(costs.networkBeta),
    set: (costs, value) => { costs.networkBeta = 10 ** -value; },
    text: (costs) => rateText(1 / costs.networkBeta) },
  size: { get: (costs) => Math.log2(costs.bytes), set: (costs, value) => { costs.bytes = 2 ** value; },
    text: (costs) => bytesText(costs.bytes) },
};

class Controls {
  constructor(app) {
    this.app = app;
    this.lastSaid = 0;
    app.onTime = () => this.timeChanged();
    app.onRest = () => this.rested();
    app.onChoice = () => this.chosen();
    this.quiz = new Quiz(byId("quiz"), app);
    this.bindTransport();
    this.bindSliders();
    this.bindChoices();
    this.bindView();
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => app.resize()).observe(byId("stages"));
    window.addEventListener("beforeprint", () => this.forPaper(true));
    window.addEventListener("afterprint", () => this.forPaper(false));
  }

  /** Prepares for printing, and undoes that: paper is white and cannot be unfolded. */
  forPaper(begins) {
    const { dataset } = document.documentElement;
    if (begins) this.before = { theme: dataset.theme, open: byId("rounds-box").open };
    byId("rounds-box").open = begins || this.before.open;
    if (begins) dataset.theme = "light";
    else if (this.before.theme === undefined) delete dataset.theme;
    else dataset.theme = this.before.theme;
    this.app.recolour();
  }

  bindTransport() {
    const { player } = this.app;
    const actions = { "to-start": () => this.jump(0), back: () => player.back(),
      play: () => player.toggle(), forward: () => player.forward(),
      "to-end": () => this.jump(player.end) };
    for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
    byId("speed").addEventListener("change", (event) => { player.speed = Number(event.target.value); });
    this.scrub = byId("scrub");
    this.scrub.addEventListener("input", () =>
      player.seek((Number(this.scrub.value) / 1000) * player.end));
  }

  jump(time) {
    this.app.player.playing = false;
    this.app.player.seek(time);
  }

  bindSliders() {
    for (const element of document.querySelectorAll(".between-hosts"))
      element.hidden = !this.app.data.network;
    for (const [id, slider] of Object.entries(sliders)) {
      const input = byId(id);
      input.addEventListener("input", () => {
        slider.set(this.app.costs, Number(input.value));
        this.sayCosts();
        cancelAnimationFrame(this.replaying);
        this.replaying = requestAnimationFrame(() => this.app.replay());
      });
    }
  }

  sayCosts() {
    for (const [id, slider] of Object.entries(sliders)) {
      const text = slider.text(this.app.costs);
      byId(`${id}-value`).textContent = text;
      byId(id).setAttribute("aria-valuetext", text);
    }
  }

  bindChoices() {
    this.fillChoices();
    const choose = () => {
      const second = Number(byId("second").value);
      this.app.showAlgorithms([Number(byId("first").value), ...(second >= 0 ? [second] : [])]);
    };
    byId("first").addEventListener("change", choose);
    byId("second").addEventListener("change", choose);
    const { sizes } = this.app.worlds;
    byId("ranks-choice").hidden = sizes.length < 2;
    byId("ranks").max = sizes.length - 1;
    byId("ranks").addEventListener("input", () => this.app.setRanks(sizes[Number(byId("ranks").value)]));
  }

  /** How the stage shows things: numbers or bars, and two algorithms round by round or on one clock. */
  bindView() {
    byId("numbers").addEventListener("change", (event) =>
      this.app.changeView({ numbers: event.target.checked }));
    byId("pace").addEventListener("change", () => {
      this.app.byRounds = byId("pace").value === "rounds";
      this.app.player.playing = false;
      this.app.player.time = 0;
      this.app.replay();
    });
  }

  /** Other algorithms or another number of ranks are on the stage. */
  chosen() {
    this.fillChoices();
    this.fillTables();
    this.sayState();
    this.quiz.ask();
  }

  /** Lets choices and sliders show what the app has, after somebody else has changed it. */
  sayState() {
    const { app } = this;
    const { schedule } = app.replays[0];
    byId("numbers-choice").hidden = !app.replays.some((replay) => hasNumbers(replay.schedule));
    byId("numbers").checked = app.view.numbers;
    byId("pace").value = app.byRounds ? "rounds" : "clock";
    const at = app.worlds.sizes.indexOf(schedule.ranks);
    byId("ranks").disabled = at < 0;
    byId("ranks").value = at;
    byId("ranks").setAttribute("aria-valuetext", plural(schedule.ranks, "rank"));
    byId("ranks-value").textContent = schedule.ranks;
    for (const [id, slider] of Object.entries(sliders)) byId(id).value = slider.get(app.costs);
    this.sayCosts();
  }

  fillChoices() {
    const { schedules, shown } = this.app;
    const mixed = new Set(schedules.map((schedule) => schedule.collective)).size > 1;
    const options = () => schedules.map((schedule, index) => new Option(
      mixed ? `${collectiveTitle(schedule)}: ${algorithmTitle(schedule)}` : algorithmTitle(schedule), index));
    byId("first").replaceChildren(...options());
    byId("second").replaceChildren(new Option("nothing", -1), ...options());
    byId("first").value = shown[0];
    byId("second").value = shown[1] ?? -1;
  }

  timeChanged() {
    const { player } = this.app;
    this.scrub.value = player.end > 0 ? (player.time / player.end) * 1000 : 0;
    const where = this.app.pace.text(player.time);
    this.scrub.setAttribute("aria-valuetext", where);
    byId("clock").textContent = where;
    this.quiz.timeChanged();
    const play = byId("play");
    if (play.dataset.playing !== `${player.playing}`) {
      play.dataset.playing = `${player.playing}`;
      play.setAttribute("aria-label", player.playing ? "Pause" : "Play");
    }
    if (player.playing && this.passedStop()) this.caption(performance.now() - this.lastSaid > 2500);
  }

  passedStop() {
    const at = this.app.player.previousStop();
    if (at === this.captionedStop) return false;
    this.captionedStop = at;
    return true;
  }

  rested() {
    this.captionedStop = undefined;
    this.caption(true);
  }

  /** The visible caption changes at every stop. Screen readers are told when there is time. */
  caption(aloud) {
    const captions = this.app.captions();
    byId("now").replaceChildren(...captions.map((text) => tableElement("p", text)));
    if (!aloud) return;
    this.lastSaid = performance.now();
    byId("live").textContent = captions.join(" ");
  }

  fillTables() {
    byId("round-tables").replaceChildren(...this.app.replays.map(roundTable));
    byId("agreement").textContent = this.app.replays.map(agreementSentence).join(" ");
    const findings = this.app.replays.flatMap((replay) => replay.play.findings);
    byId("problems").replaceChildren(...findings.map((finding) => tableElement("li", finding)));
    byId("problem-box").hidden = findings.length === 0;
  }

  key(event) {
    const { player } = this.app;
    const { target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.matches("textarea, select, input:not(#scrub, [type=checkbox], [name=follow])")) return;
    if (target.matches("[name=follow]") && /^Arrow| /.test(event.key)) return;
    const onButton = target.matches("button, summary, a, [type=checkbox]");
    const actions = { ArrowRight: () => player.forward(), ArrowLeft: () => player.back(),
      Home: () => this.jump(0), End: () => this.jump(player.end),
      "+": () => this.changeSpeed(1), "-": () => this.changeSpeed(-1),
      d: () => byId("theme").click(), c: () => byId("second").focus(),
      n: () => this.scenes?.step(1), p: () => this.scenes?.step(-1) };
    if (!onButton) actions[" "] = () => player.toggle();
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  changeSpeed(by) {
    const speed = byId("speed");
    const index = Math.min(speed.options.length - 1, Math.max(0, speed.selectedIndex + by));
    speed.selectedIndex = index;
    this.app.player.speed = Number(speed.value);
  }
}

/** Whether the page's own play saw what rondo's explainer saw. */
function agreementSentence(replay) {
  const { schedule, play } = replay;
  if (schedule.rounds === undefined) return `${algorithmTitle(schedule)}: checked in this page.`;
  const same = JSON.stringify(roundDigests(play)) === JSON.stringify(schedule.rounds);
  return same ? `${algorithmTitle(schedule)}: this page's play agrees with rondo explain in all ` +
    `${plural(schedule.rounds.length, "round")}.`
    : `${algorithmTitle(schedule)}: this page's play DIFFERS from rondo explain.`;
}
