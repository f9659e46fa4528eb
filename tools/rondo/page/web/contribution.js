// Contributions: what a chunk of memory is made of. {set: bits of ranks, count, chunk, tree, fault,
// numbers: the sums of its elements}.
// The rules are those of core/schedule/contribution.cc. But a tree (the order of combination) is
// the number of its shape here, not a hash.

class ContributionAlgebra {
  constructor(schedule) {
    this.schedule = schedule;
    this.ranks = schedule.ranks;
    this.token = isToken(schedule.collective);
    this.ordered = isScan(schedule.collective);
    this.trees = new Map();
    this.leaves = new Map();
  }

  static nothing() {
    return { set: 0n, count: 0, chunk: -1, tree: -1, fault: "undefined", numbers: [] };
  }

  leaf(rank, chunk) {
    const key = chunk * this.ranks + rank;
    if (!this.leaves.has(key)) {
      this.leaves.set(key, { set: 1n << BigInt(rank), count: 1, chunk, tree: this.shape(`${rank}`),
        fault: "", numbers: inputNumbers(this.schedule, rank, chunk) });
    }
    return this.leaves.get(key);
  }

  shape(text) {
    if (!this.trees.has(text)) this.trees.set(text, this.trees.size);
    return this.trees.get(text);
  }

  /** Combines all operands at once, from left to right. Faults of operands spread. */
  combine(operands) {
    let value = operands[0];
    for (let i = 1; i < operands.length; ++i) value = this.merge(value, operands[i]);
    const tree = this.shape(`(${operands.map((operand) => operand.tree).join(" ")})`);
    return { ...value, tree };
  }

  merge(left, right) {
    const value = { ...left, fault: left.fault || right.fault };
    if (value.fault) return value;
    value.numbers = left.numbers.map((number, i) => number + right.numbers[i]);
    if (left.chunk !== right.chunk) value.fault = "mixed";
    if (this.ordered && ranksOf(left.set).at(-1) > ranksOf(right.set)[0]) value.fault = "disorder";
    value.set = left.set | right.set;
    if (this.token) {
      value.count = countBits(value.set);
      return value;
    }
    if ((left.set & right.set) !== 0n) value.fault = "twice";
    value.count = left.count + right.count;
    return value;
  }

  satisfies(value, wanted) {
    if (value.fault || value.chunk !== wanted.chunk) return false;
    if (value.count !== wanted.ranks) return false;
    return this.token || value.set === ((1n << BigInt(wanted.ranks)) - 1n) << BigInt(wanted.first);
  }

  text(value) {
    if (value.fault === "undefined") return "nothing";
    const words = `{${ranksOf(value.set).join(" ")}} of chunk ${value.chunk}`;
    if (value.fault === "mixed") return `${words} mixed with another chunk`;
    if (value.fault === "disorder") return `${words} not in the order of ranks`;
    if (value.fault === "twice") return `${words} with a rank counted twice`;
    return words;
  }

  /** "; missing: ranks 2, 4". */
  missing(value, wanted) {
    if (value.fault || value.chunk !== wanted.chunk) return "";
    const all = Array.from({ length: wanted.ranks }, (_, i) => wanted.first + i);
    return ranksSaid("missing", all.filter((rank) => ((value.set >> BigInt(rank)) & 1n) === 0n));
  }

  /** "; counted twice: rank 0", of what is combined. */
  twice(operands) {
    if (this.token || operands.some(({ chunk }) => chunk !== operands[0].chunk)) return "";
    const all = operands.flatMap(({ set }) => ranksOf(set)).sort((a, b) => a - b);
    return ranksSaid("counted twice", all.filter((rank, i) => rank === all[i + 1] && rank !== all[i - 1]));
  }

  expectationText(wanted) {
    const last = wanted.first + wanted.ranks - 1;
    const some = wanted.ranks === 1 ? `{${last}}` : `each of the ranks ${wanted.first} to ${last} once`;
    const who = wanted.ranks > 1 && wanted.ranks === this.ranks ? "every rank once" : some;
    return `${who} of chunk ${wanted.chunk}`;
  }
}

/** Members of a set, ascending. */
function ranksOf(set) {
  const ranks = [];
  for (let rank = 0, rest = set; rest !== 0n; ++rank, rest >>= 1n) {
    if (rest & 1n) ranks.push(rank);
  }
  return ranks;
}

/** Ascending ranks as lists of those that follow each other. */
function runsOf(ranks) {
  const runs = [];
  for (const rank of ranks) {
    if (runs.at(-1)?.at(-1) === rank - 1) runs.at(-1).push(rank);
    else runs.push([rank]);
  }
  return runs;
}

/** "; missing: ranks 0, 2-4"; "" where there are none. */
function ranksSaid(what, ranks) {
  const words = runsOf(ranks).map((run) => (run.length < 3 ? run.join(", ") : `${run[0]}-${run.at(-1)}`));
  return ranks.length > 0 ? `; ${what}: ${ranks.length > 1 ? "ranks" : "rank"} ${words.join(", ")}` : "";
}

const countBits = (set) => ranksOf(set).length;
