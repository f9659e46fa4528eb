// The numbers of ranks for which a page has schedules: its own, and smaller or larger worlds that
// the program put beside them.

class Worlds {
  constructor(data) {
    this.data = data;
    this.encoded = new Map([[data.schedules[0].ranks, data.schedules]]);
    for (const schedules of data.worlds ?? []) this.encoded.set(schedules[0].ranks, schedules);
    this.decoded = new Map();
  }

  get sizes() { return [...this.encoded.keys()].sort((a, b) => a - b); }

  /** The schedules for so many ranks. */
  at(ranks) {
    const decoded = (each) => onHosts(decodeSchedule(each), this.data);
    if (!this.decoded.has(ranks)) this.decoded.set(ranks, this.encoded.get(ranks).map(decoded));
    return this.decoded.get(ranks);
  }
}
