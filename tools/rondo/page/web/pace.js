// How the player's positions become instants of the replays. On one clock they are seconds, and the
// faster algorithm is done first. Round by round, every algorithm has its first round, then every
// one its second, however long these take.

class ClockPace {
  constructor(replays) {
    this.name = "clock";
    this.end = Math.max(...replays.map((replay) => replay.end), 1e-12);
    const all = replays.flatMap((replay) => replay.stops).sort((a, b) => a - b);
    // Stops closer than a thousandth of the whole count as one.
    this.stops = all.filter((stop, i) => i + 1 === all.length || all[i + 1] - stop > this.end * 1e-3);
  }
  instant(replay, position) { return Math.min(position, replay.end); }
  position(replay, time) { return time; }
  text(position) { return `${timeText(position)} of ${timeText(this.end)}`; }
  isOver(replay, position) { return position > replay.end * (1 + 1e-9); }

  /** "Stop 3 of 6." */
  place(player) {
    const passed = player.stops.filter((stop) => stop <= player.time || player.near(stop, player.time));
    const here = passed.length > 0 && player.near(passed[passed.length - 1], player.time);
    return `${here ? "Stop" : "After stop"} ${passed.length} of ${player.stops.length}.`;
  }
}

class RoundPace {
  constructor(replays) {
    this.name = "rounds";
    this.end = Math.max(...replays.map((replay) => replay.rounds.length), 1);
    this.stops = Array.from({ length: this.end }, (_, i) => i + 1);
  }
  instant(replay, position) {
    const ends = [0, ...replay.rounds.map(({ end }) => end)];
    const whole = Math.min(Math.floor(position), ends.length - 1);
    const next = Math.min(whole + 1, ends.length - 1);
    return ends[whole] + (ends[next] - ends[whole]) * (position - whole);
  }
  position(replay, time) {
    const next = replay.rounds.findIndex(({ end }) => end >= time * (1 - 1e-12));
    if (next < 0) return replay.rounds.length;
    const from = next === 0 ? 0 : replay.rounds[next - 1].end;
    const length = replay.rounds[next].end - from;
    return next + (length > 0 ? Math.max(0, time - from) / length : 1);
  }
  text(position) { return `round ${Math.ceil(position - 1e-9)} of ${this.end}`; }
  isOver(replay, position) { return position > replay.rounds.length + 1e-9; }
  place(player) {
    const done = Math.floor(player.time + 1e-9);
    const of = `of ${this.end}.`;
    return player.time - done < 1e-6 ? `Round ${done} ${of}` : `In round ${done + 1} ${of}`;
  }
}
