// Write your own schedule: its text form, checked while it is typed, and played on the stage.

const examples = {
  "two ranks, right": `collective all_reduce
algorithm swap
ranks 2

rank 0
  round 1
    send input[0] to 1
    receive_reduce input[0] then from 1 into output[0]

rank 1
  round 1
    send input[0] to 0
    receive_reduce from 0 then input[0] into output[0]
`,
  "two levels, right": `# Two machines with two ranks each: sums meet at the first rank of each machine.
collective all_reduce
algorithm two_levels
ranks 4
phases gather exchange spread

rank 0
  phase gather round 1
    receive_reduce input[0] then from 1 into scratch0[0]
  phase exchange round 1
    send scratch0[0] to 2
    receive_reduce scratch0[0] then from 2 into output[0]
  phase spread round 1
    send output[0] to 1

rank 1
  phase gather round 1
    send input[0] to 0
  phase spread round 1
    receive from 0 into output[0]

rank 2
  phase gather round 1
    receive_reduce input[0] then from 3 into scratch0[0]
  phase exchange round 1
    send scratch0[0] to 0
    receive_reduce from 0 then scratch0[0] into output[0]
  phase spread round 1
    send output[0] to 3

rank 3
  phase gather round 1
    send input[0] to 2
  phase spread round 1
    receive from 2 into output[0]
`,
  "wrong: nobody begins": `# Both wait for the other before they send.
collective all_reduce
ranks 2

rank 0
    receive_reduce from 1 then input[0] into output[0]
    send input[0] to 1

rank 1
    receive_reduce from 0 then input[0] into output[0]
    send input[0] to 0
`,
  "wrong: counted twice": `# Rank 1 passes on a sum that rank 0 is in already.
collective all_reduce
ranks 2

rank 0
  round 1
    send input[0] to 1
  round 2
    receive_reduce from 1 then input[0] into output[0]

rank 1
  round 1
    receive_reduce from 0 then input[0] into output[0]
  round 2
    send output[0] to 0
`,
  "wrong: different orders": `# The same sum, but 0+1 on one rank and 1+0 on the other: bits may differ.
collective all_reduce
ranks 2

rank 0
    send input[0] to 1
    receive_reduce input[0] then from 1 into output[0]

rank 1
    send input[0] to 0
    receive_reduce input[0] then from 0 into output[0]
`,
};

/** Texts for many numbers of ranks have loops, conditions and formulas. The page reads none. */
const forMany = [/^[ \t]*(for|if|let|when|sizes)\b/m, /^[ \t]*ranks?[ \t]+([A-Za-z(]|\d+[ \t]*\.\.)/m,
  /^[^#\n]*\[[^\]\n]*[A-Za-z+*/%^-]/m];
const forManyHint = "This page reads texts for one number of ranks, without loops and formulas. Save this " +
  "one, and paste here what `rondo schedule --file mine.txt --ranks 4` prints.";

/** {schedule, findings} of a text; schedule is null where it cannot be read. */
function checkText(text) {
  try {
    const schedule = parseSchedule(text);
    const costs = { alpha: 1, beta: 0, gamma: 0, bytes: 1 };
    return { schedule, findings: playSchedule(schedule, costs).findings };
  } catch (error) {
    if (!(error instanceof TextError)) throw error;
    const hints = forMany.some((sign) => sign.test(text)) ? [forManyHint] : [];
    return { schedule: null, findings: [...hints, error.message] };
  }
}

class Editor {
  constructor(element, onPlay) {
    this.onPlay = onPlay;
    this.area = element.querySelector("textarea");
    this.verdict = element.querySelector(".verdict");
    this.list = element.querySelector(".findings");
    this.playButton = element.querySelector(".play-text");
    const choice = element.querySelector("select");
    for (const name of Object.keys(examples)) choice.append(new Option(name, name));
    choice.addEventListener("change", () => {
      if (choice.value) this.set(examples[choice.value]);
      choice.value = "";
    });
    this.area.addEventListener("input", () => {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.check(), 250);
    });
    this.playButton.addEventListener("click", () => {
      const { schedule } = this.check();
      if (!schedule) return;
      onPlay(schedule);
      byId("stages").scrollIntoView({ block: "nearest" });
      byId("play").focus();
    });
    element.querySelector(".save-text").addEventListener("click", () => {
      const link = tableElement("a", "", { download: "mine.txt" });
      link.href = URL.createObjectURL(new Blob([this.area.value], { type: "text/plain" }));
      link.click();
      URL.revokeObjectURL(link.href);
    });
    element.querySelector(".copy-text").addEventListener("click", (event) => {
      this.area.select();
      const done = () => { event.target.textContent = "Copied"; };
      navigator.clipboard?.writeText(this.area.value).then(done, () => document.execCommand("copy"));
    });
  }

  set(text) {
    this.area.value = text;
    this.check();
  }

  /** Shows one of the examples in the editor and on the stage. */
  playExample(name) {
    this.set(examples[name]);
    this.onPlay(this.check().schedule);
  }

  check() {
    const result = checkText(this.area.value);
    const { schedule, findings } = result;
    const right = findings.length === 0;
    this.verdict.dataset.state = right ? "right" : "wrong";
    this.verdict.textContent = right
      ? `✓ Right for ${plural(schedule.ranks, "rank")}: every contribution arrives exactly once, ` +
        "no rank waits for ever."
      : schedule === null ? "✗ This cannot be read yet." : "✗ Wrong.";
    this.list.replaceChildren(...findings.map((finding) => tableElement("li", finding)));
    this.playButton.disabled = schedule === null;
    return result;
  }
}
