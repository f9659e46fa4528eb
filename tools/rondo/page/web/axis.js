// The time axis. Each rank has a row with a block for each message that it sends. A lighter strip
// shows where the receiver combines. The axis is drawn once, and the clock's hand moves over it.

class TimeAxis {
  constructor(element, onSeek) {
    this.canvas = element.querySelector("canvas");
    this.heading = element.querySelector("h3");
    this.behind = document.createElement("canvas");
    this.part = null;
    const seek = (event) => {
      const box = this.canvas.getBoundingClientRect();
      onSeek(this.timeAt(event.clientX - box.left));
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      seek(event);
    });
    this.canvas.addEventListener("pointermove", (event) => { if (event.buttons & 1) seek(event); });
  }

  /** `end`: where the axis ends. Where two algorithms share one clock, it is the later end. */
  show(replay, end) {
    this.replay = replay;
    this.end = end || 1e-9;
    this.heading.textContent = `${algorithmTitle(replay.schedule)}: ${timeText(replay.end)}`;
    this.resize();
  }

  resize() {
    if (!this.replay) return;
    const { ranks } = this.replay.schedule;
    this.row = ranks <= 8 ? 16 : ranks <= 16 ? 12 : ranks <= 32 ? 6 : 4;
    this.left = ranks <= 16 ? 46 : 8;
    this.width = this.canvas.parentElement.clientWidth;
    this.height = ranks * this.row + 20;
    this.scale = Math.min(2, window.devicePixelRatio || 1);
    for (const canvas of [this.canvas, this.behind]) {
      canvas.width = Math.round(this.width * this.scale);
      canvas.height = Math.round(this.height * this.scale);
    }
    this.canvas.style.height = `${this.height}px`;
    this.canvas.setAttribute("aria-label", `When each rank sends, over ${timeText(this.end)}`);
    this.stale = true;
  }

  /** Dims the messages that carry nothing of a part of the vector. */
  follow(part) {
    this.part = part;
    this.stale = true;
  }

  xAt(time) { return this.left + (time / this.end) * (this.width - this.left - 8); }
  timeAt(x) {
    return Math.max(0, Math.min(1, (x - this.left) / (this.width - this.left - 8))) * this.end;
  }

  drawBehind(colours) {
    const context = this.behind.getContext("2d");
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    this.drawRows(context, colours);
    this.drawTicks(context, colours);
    const { schedule } = this.replay;
    for (const message of this.replay.messages) {
      context.globalAlpha = carriesFollowed(schedule, this.part, message) ? 1 : dimmed;
      const x = this.xAt(message.begin);
      const room = this.xAt(message.end) - x;
      const width = Math.max(0.75, room - (room > 6 ? 1 : 0));
      context.fillStyle = chunkColours[colourIndex(schedule, message.values[0])];
      const edge = this.row >= 12 ? 1.5 : 0.5;
      context.fillRect(x, message.from * this.row + edge, width, this.row - 2 * edge);
      this.drawCombining(context, message, colours);
      this.drawName(context, message, x, width);
    }
    context.globalAlpha = 1;
    this.stale = false;
  }

  drawRows(context, colours) {
    const { ranks } = this.replay.schedule;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (let rank = 0; rank < ranks; ++rank) {
      context.fillStyle = colours.empty;
      context.fillRect(this.left, rank * this.row + 1, this.width - this.left - 8, this.row - 2);
      context.fillStyle = colours.quiet;
      if (ranks <= 16) context.fillText(`rank ${rank}`, 0, (rank + 0.5) * this.row + 0.5);
    }
  }

  drawTicks(context, colours) {
    const bottom = this.height - 20;
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    if (this.replay.stops.length <= 64) {
      context.beginPath();
      for (const stop of this.replay.stops) {
        const x = Math.round(this.xAt(stop)) + 0.5;
        context.moveTo(x, 0);
        context.lineTo(x, bottom);
      }
      context.stroke();
    }
    context.fillStyle = colours.quiet;
    for (let i = 0; i <= 4; ++i) {
      context.textAlign = i === 0 ? "left" : i === 4 ? "right" : "center";
      context.fillText(timeText((this.end * i) / 4), this.xAt((this.end * i) / 4), this.height - 8);
    }
  }

  /** Draws a lighter strip at the bottom of the receiver's row. */
  drawCombining(context, message, colours) {
    const x = this.xAt(message.end);
    const width = this.xAt(message.settled) - x;
    if (width < 0.75 || this.row < 12) return;
    context.fillStyle = colours.quiet;
    context.fillRect(x, (message.to + 1) * this.row - 4, width, 2.5);
  }

  drawName(context, message, x, width) {
    if (this.row < 12 || width < 14) return;
    const { schedule } = this.replay;
    const long = cargoText(message, schedule);
    const short = chunksText(message.values, schedule.chunks);
    context.font = "10px system-ui, sans-serif";
    const text = context.measureText(long).width + 6 < width ? long : short;
    if (context.measureText(text).width + 2 > width) return;
    context.textAlign = "center";
    context.fillStyle = inkOnChunk[colourIndex(schedule, message.values[0])];
    context.fillText(text, x + width / 2, (message.from + 0.5) * this.row + 0.5);
  }

  draw(colours, time) {
    if (this.width === 0) return;  // a lesson's scene hides it
    if (this.stale) this.drawBehind(colours);
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.behind, 0, 0);
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    const x = this.xAt(Math.min(time, this.end));
    context.strokeStyle = context.fillStyle = colours.accent;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, this.height - 18);
    context.stroke();
    context.beginPath();
    context.arc(x, this.height - 18, 4, 0, 7);
    context.fill();
  }
}
