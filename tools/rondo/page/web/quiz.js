// "What will rank 0 hold?", asked before Play. The answers to choose from are what other ranks hold
// at that moment, and what rank 0 holds at others. The play itself says which one is right.

const mostAnswers = 4;

/** What a rank holds, in so few words that they can be an answer. */
function holdingText(replay, rank) {
  const { schedule } = replay;
  const full = fullCount(schedule);
  if (schedule.chunks === 1) {
    const { best } = replay.cell(rank, 0);
    return best === null ? "nothing" : full === 1 ? "the data" : best.count >= full ? "the sum of all ranks"
      : best.count === 1 ? `the vector of ${whoText(ranksOf(best.set), schedule.ranks)} alone`
        : `the sum of ${whoText(ranksOf(best.set), schedule.ranks)}`;
  }
  const done = [];
  for (let chunk = 0; chunk < schedule.chunks; ++chunk)
    if ((replay.cell(rank, chunk).best?.count ?? 0) >= full) done.push(chunkName(chunk, schedule.chunks));
  const what = full > 1 ? "complete sum" : "chunk";
  if (done.length === schedule.chunks) return full > 1 ? "the complete sums of all chunks" : "all chunks";
  if (done.length === 0) return `no ${what}`;
  return done.length > 4 ? `${done.length} ${what}s`
    : `the ${what}${full > 1 ? ` of ${done.length > 1 ? "chunks" : "chunk"}` : ""} ${done.join(" and ")}`;
}

/** {label, answers, right}: what rank 0 holds when the first phase is over; null: there is one answer. */
function questionOf(replay) {
  const { rounds, schedule } = replay;
  if (rounds.length === 0 || isToken(schedule.collective) || schedule.real) return null;
  const asked = rounds.findLast(({ phase }) => phase === rounds[0].phase);
  const before = replay.time;
  replay.seek(asked.end);
  const right = holdingText(replay, 0);
  const answers = new Set([right]);
  const step = Math.max(1, Math.floor(schedule.ranks / mostAnswers));
  for (let rank = step; rank < schedule.ranks && answers.size < mostAnswers; rank += step)
    answers.add(holdingText(replay, rank));
  for (const { end } of [{ end: 0 }, ...rounds]) {
    if (answers.size >= mostAnswers) break;
    replay.seek(end);
    answers.add(holdingText(replay, 0));
  }
  replay.seek(before);
  if (answers.size < 2) return null;
  return { label: asked.label, right, answers: [...answers].sort() };
}

class Quiz {
  constructor(element, app) {
    this.element = element;
    this.app = app;
    this.verdict = element.querySelector(".verdict");
  }

  /** Asks anew, about the first algorithm on the stage. */
  ask() {
    this.question = questionOf(this.app.replays[0]);
    this.said = null;
    this.element.hidden = this.question === null;
    if (this.question === null) return;
    const of = this.app.replays.length > 1 ? `${algorithmTitle(this.app.replays[0].schedule)}: ` : "";
    this.element.querySelector(".asks").textContent =
      `${of}After ${this.question.label}, what will rank 0 hold?`;
    this.element.querySelector(".answers").replaceChildren(...this.question.answers.map((answer) => {
      const button = tableElement("button", answer, { type: "button", "aria-pressed": "false" });
      button.addEventListener("click", () => this.answer(button, answer));
      return button;
    }));
    this.say("Choose before you press Play.", "");
  }

  /** When it shows. Costs may have changed since it was asked, and the algorithm is about to. */
  get moment() {
    return this.app.replays[0].rounds.find(({ label }) => label === this.question.label)?.end ?? Infinity;
  }

  /** Notes the answer and plays to the moment at which the stage shows the right one. */
  answer(button, answer) {
    const { player, pace, replays } = this.app;
    this.said = answer;
    for (const each of this.element.querySelectorAll(".answers button"))
      each.setAttribute("aria-pressed", `${each === button}`);
    this.say("Now see.", "");
    const at = pace.position(replays[0], this.moment);
    if (player.time >= at) player.seek(0);
    player.playTo(at);
  }

  /** Tells the reader who has answered, as soon as the play has come to the moment. */
  timeChanged() {
    if (!this.question || this.said === null) return;
    if (this.app.replays[0].time < this.moment * (1 - 1e-9)) return;
    const right = this.said === this.question.right;
    this.say(`${right ? "✓ Right" : "✗ Not so"}: rank 0 then holds ${this.question.right}.`,
      right ? "right" : "wrong");
  }

  say(text, state) {
    if (this.verdict.textContent === text) return;
    this.verdict.textContent = text;
    this.verdict.dataset.state = state;
  }
}
