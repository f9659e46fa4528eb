// "Follow a chunk": one part of the vector stays bright, all else is dimmed. What is chosen is a
// part [from, to) of the vector, so that two algorithms with other chunks show the same data.

const dimmed = 0.16;

const partOf = (schedule, chunk) => ({ from: chunk / schedule.chunks, to: (chunk + 1) / schedule.chunks });

/** Whether a chunk of a schedule has data of the part; null stands for the whole vector. */
const isFollowed = (schedule, part, chunk) => part === null ||
  ((chunk + 1) / schedule.chunks > part.from + 1e-9 && chunk / schedule.chunks < part.to - 1e-9);

const carriesFollowed = (schedule, part, message) => part === null ||
  message.values.some((value) => isFollowed(schedule, part, Math.max(0, value.chunk)));

/** The choice: a radio button for each chunk of the first schedule. */
class FollowChoice {
  constructor(element, onChoose) {
    this.element = element;
    this.onChoose = onChoose;
  }

  show(schedule) {
    this.schedule = schedule;
    this.element.hidden = schedule.chunks < 2;
    const labels = ["all", ...chunkNames(schedule)].map((name, i) => this.makeLabel(name, i - 1));
    this.element.querySelector(".follow-choices").replaceChildren(...labels);
    this.choose(-1);
  }

  makeLabel(name, chunk) {
    const label = tableElement("label");
    const input = tableElement("input", "", { type: "radio", name: "follow", value: `${chunk}` });
    input.addEventListener("change", () => this.choose(chunk));
    const swatch = tableElement("span", "", { class: "swatch", "aria-hidden": "true" });
    if (chunk >= 0) swatch.style.background = chunkColours[chunk % chunkColours.length];
    label.append(input, ...(chunk >= 0 ? [swatch] : []), tableElement("span", name));
    return label;
  }

  /** -1: no chunk in particular. */
  choose(chunk) {
    const input = this.element.querySelector(`input[value="${chunk}"]`);
    if (input) input.checked = true;
    this.chunk = input ? chunk : -1;
    this.onChoose(this.chunk < 0 ? null : partOf(this.schedule, this.chunk));
  }
}
