// A lesson's scenes. Each paragraph of the lesson is a button: it sets the page up, brings the player
// to a moment, and shows the panels of the page that the paragraph speaks of. A scene says all of
// that itself, so scenes can be visited in any order. Attributes of a scene's <li>, all optional:
//
//   data-at      the moment: "start" (default), "end", or the label of a round, such as
//                "reduce-scatter round 2": when that round is done
//   data-from    the moment from which it plays until then; without it, the player is there at once
//   data-first, data-second   algorithms; by default the page's first alone
//   data-ranks   the number of ranks      data-size   log2 of the size in bytes
//   data-pace    "clock" or "rounds"      data-chunk  the chunk in the spotlight
//   data-look    "whole": the vector is not cut yet
//   data-show    panels: choices ranks clock rank bytes chart quiz rounds notes editor
//   data-example the example that the editor plays

class Scenes {
  constructor(list, app, parts) {
    this.app = app;
    this.parts = parts;  // {controls, quiz, editor}
    const [{ collective, algorithm, ranks }] = app.schedules;
    this.usual = { first: `${collective}:${algorithm}`, ranks, costs: { ...app.costs },
      numbers: app.view.numbers };
    this.buttons = [...list.children].map((item, number) => this.makeButton(item, number));
    document.body.classList.add("told");
    byId("all-panels").hidden = false;
    byId("all-panels").addEventListener("click", () => this.showPanels(null));
  }

  makeButton(item, number) {
    const button = tableElement("button", "", { type: "button", class: "scene" });
    button.append(...item.childNodes);
    Object.assign(button.dataset, item.dataset);
    button.addEventListener("click", () => this.show(number));
    item.append(button);
    return button;
  }

  /** Goes to the next scene, or to the one before. */
  step(by) {
    const number = Math.max(0, Math.min(this.buttons.length - 1, this.current + by));
    this.show(number);
    this.buttons[number].focus();
  }

  show(number) {
    this.current = number;
    this.buttons.forEach((button, i) => {
      if (i === number) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
    const { dataset } = this.buttons[number];
    this.buttons[number].scrollIntoView({ block: "nearest", inline: "center" });
    this.setUp(dataset);
    this.showPanels((dataset.show ?? "").split(" "));
    this.bringIntoView(dataset);
    this.seek(dataset);
  }

  /** The stage while something moves on it; where nothing moves, the first panel below it. */
  bringIntoView(scene) {
    const stages = byId("stages");
    for (const each of [document.querySelector(".bar"), stages]) each.scrollIntoView({ block: "nearest" });
    if (scene.from !== undefined) return;
    const isBelow = (panel) => stages.compareDocumentPosition(panel) & Node.DOCUMENT_POSITION_FOLLOWING;
    const shown = [...document.querySelectorAll("[data-panel]:not(.away)")];
    shown.find(isBelow)?.scrollIntoView({ block: "nearest" });
  }

  setUp(scene) {
    const { app, usual, parts } = this;
    app.player.playing = false;
    Object.assign(app.costs, usual.costs, scene.size ? { bytes: 2 ** Number(scene.size) } : {});
    app.byRounds = scene.pace !== "clock";
    app.schedules = app.worlds.at(Number(scene.ranks ?? usual.ranks));
    const names = [scene.first ?? usual.first, ...(scene.second ? [scene.second] : [])];
    app.showAlgorithms(names.map((name) => this.indexOf(name)));
    if (scene.example) parts.editor.playExample(scene.example);
    app.changeView({ whole: scene.look === "whole", numbers: usual.numbers });
    app.follow.choose(chunkNames(app.replays[0].schedule).indexOf(scene.chunk));
    parts.controls.sayState();
  }

  /** The index of "ring" or, where a lesson has several collectives, "all_gather:ring". */
  indexOf(name) {
    const index = this.app.schedules.findIndex(({ collective, algorithm }) =>
      name === algorithm || name === `${collective}:${algorithm}`);
    if (index < 0) throw new Error(`the lesson's scene shows ${name}, which this page does not have`);
    return index;
  }

  seek(scene) {
    const { player } = this.app;
    const at = this.moment(scene.at ?? "start");
    if (scene.from === undefined) {
      player.seek(at);
      return;
    }
    player.seek(this.moment(scene.from));
    player.playTo(at);
  }

  /** The player's position at a moment. */
  moment(words) {
    const { app } = this;
    if (words === "start") return 0;
    if (words === "end") return app.player.end;
    const [replay] = app.replays;
    const round = replay.rounds.find(({ label }) => label === words);
    if (!round) throw new Error(`the lesson's scene is at ${words}, which is no round of what it shows`);
    return app.pace.position(replay, round.end);
  }

  /** Panels by their names; null: all. */
  showPanels(names) {
    for (const panel of document.querySelectorAll("[data-panel]"))
      panel.classList.toggle("away", names !== null && !names.includes(panel.dataset.panel));
    const wanted = (name) => names === null || names.includes(name);
    byId("rounds-box").open = names !== null && wanted("rounds");
    if (wanted("editor")) byId("editor").open = true;
    if (wanted("quiz")) this.parts.quiz.ask();
    byId("all-panels").disabled = names === null;
    this.app.resize();
  }
}
