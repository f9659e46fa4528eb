// The clock that all replays of a page share: play, pause, step, seek. It knows no picture. It
// calls `onTime(time)` whenever the time has changed, and `onStop()` when it comes to rest.

const reducedMotion = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

class Player {
  constructor(onTime, onStop) {
    this.onTime = onTime;
    this.onStop = onStop;
    this.time = 0;
    this.end = 0;
    this.stops = [];
    this.speed = 1;
    this.playing = false;
    this.until = Infinity;
    this.frame = (now) => this.tick(now);
  }

  /** Takes new instants to stop at. The clock stays at the same part of the whole. */
  retime(stops, end) {
    const part = this.end > 0 ? this.time / this.end : 0;
    const at = this.end > 0 ? this.stops.findIndex((stop) => this.near(stop, this.time)) : -1;
    const kept = at >= 0 && stops.length === this.stops.length ? stops[at] : part * end;
    this.stops = stops;
    this.end = end;
    this.until = Infinity;
    this.seek(part >= 1 ? end : kept);
  }

  near(a, b) { return Math.abs(a - b) <= this.end * 1e-9; }

  /** The model's seconds that pass in a real second. The whole takes 4 to 20 s at speed 1. */
  get rate() {
    const seconds = Math.min(20, Math.max(4, this.stops.length * 1.1));
    return (this.end / seconds) * this.speed;
  }

  seek(time) {
    this.time = Math.max(0, Math.min(this.end, time));
    this.onTime(this.time);
    if (!this.playing) this.onStop();
  }

  play() {
    if (this.playing) return;
    if (this.time >= this.end) this.time = 0;
    this.until = Infinity;
    this.start();
  }

  start() {
    this.playing = true;
    this.last = null;
    this.onTime(this.time);
    cancelAnimationFrame(this.request);  // of a play that has just been stopped
    this.request = requestAnimationFrame(this.frame);
  }

  pause() {
    this.playing = false;
    this.onTime(this.time);
    this.onStop();
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  nextStop() { return this.stops.find((stop) => stop > this.time && !this.near(stop, this.time)); }
  previousStop() {
    return this.stops.findLast((stop) => stop < this.time && !this.near(stop, this.time)) ?? 0;
  }

  /** Goes to the next stop: in motion, or at once where motion is not wanted. */
  forward() {
    const hurried = this.playing && this.until < Infinity;
    const target = hurried ? this.until : this.nextStop();
    if (target === undefined) return;
    this.playTo(target, hurried);
  }

  /** Plays from here to an instant and rests there; at once where motion is not wanted. */
  playTo(target, atOnce = false) {
    if (reducedMotion() || atOnce || target <= this.time) {
      this.playing = false;
      this.seek(target);
      return;
    }
    this.until = target;
    if (!this.playing) this.start();
  }

  back() {
    this.playing = false;
    this.seek(this.previousStop());
  }

  tick(now) {
    if (!this.playing) return;
    const elapsed = this.last === null ? 0 : now - this.last;
    this.last = now;
    this.time = reducedMotion() ? this.jump(elapsed)
      : this.time + (Math.min(elapsed, 100) / 1000) * this.rate;
    const limit = Math.min(this.until, this.end);
    if (this.time >= limit) {
      this.time = limit;
      this.pause();
      return;
    }
    this.onTime(this.time);
    this.request = requestAnimationFrame(this.frame);
  }

  /** Where motion is not wanted, jumps from stop to stop, one a second at speed 1. */
  jump(elapsed) {
    this.rest = (this.rest ?? 0) + elapsed * this.speed;
    if (this.rest < 1000) return this.time;
    this.rest = 0;
    return this.nextStop() ?? this.end;
  }
}
