// What each collective promises: which chunks a rank's buffers have and what its output must hold.
// The rules are those of core/schedule/collective.cc and layout.cc. So a page can check a schedule.

const collectives = {
  all_reduce: { title: "All-reduce", vector: true, reduces: true, rooted: false },
  reduce_scatter: { title: "Reduce-scatter", vector: false, reduces: true, rooted: false },
  all_gather: { title: "All-gather", vector: false, reduces: false, rooted: false },
  broadcast: { title: "Broadcast", vector: true, reduces: false, rooted: true },
  reduce: { title: "Reduce", vector: true, reduces: true, rooted: true },
  scan: { title: "Scan", vector: true, reduces: true, rooted: false },
  exclusive_scan: { title: "Exclusive scan", vector: true, reduces: true, rooted: false },
  all_to_all: { title: "All-to-all", vector: false, reduces: false, rooted: false },
  scatter: { title: "Scatter", vector: false, reduces: false, rooted: true },
  gather: { title: "Gather", vector: false, reduces: false, rooted: true },
  barrier: { title: "Barrier", vector: true, reduces: true, rooted: false },
  send_recv: { title: "Send and receive", vector: true, reduces: false, rooted: true },
};

/** The largest world a page can hold; data.h says the same. */
const mostPageRanks = 64;

const blocksOf = (collective, ranks) => (collectives[collective].vector ? 1 : ranks);

/** Input and output may be the same memory, chunk by chunk. */
const mayAlias = (collective) => collective !== "all_to_all";

/** Combining is idempotent: a token heard twice is heard once. */
const isToken = (collective) => collective === "barrier";

/** The chunks that a buffer of a rank holds: {first, count}. */
function held(schedule, buffer, rank) {
  const { collective, chunks, parts, root } = schedule;
  const all = { first: 0, count: chunks };
  const own = { first: rank * parts, count: parts };
  const none = { first: 0, count: 0 };
  if (buffer === "scratch") return all;
  const reads = buffer === "input";
  switch (collective) {
    case "reduce_scatter":
      return reads ? all : own;
    case "all_gather":
      return reads ? own : all;
    case "broadcast":
      return reads && rank !== root ? none : all;
    case "exclusive_scan":
      return !reads && rank === 0 ? none : all;
    case "reduce":
      return !reads && rank !== root ? none : all;
    case "scatter":
      return !reads ? own : rank === root ? all : none;
    case "gather":
      return reads ? own : rank === root ? all : none;
    case "send_recv":
      return reads === (rank === root) ? all : none;
    default:
      return all;
  }
}

function holdsChunk(schedule, buffer, rank, chunk) {
  const span = held(schedule, buffer, rank);
  return chunk >= span.first && chunk < span.first + span.count;
}

/** The ranks get sums over different ranks. */
const isScan = (collective) => collective === "scan" || collective === "exclusive_scan";

/** What an output chunk must hold: {chunk, first, ranks}, each of so many ranks once, or null. */
function expectedOutput(schedule, rank, chunk) {
  if (!holdsChunk(schedule, "output", rank, chunk)) return null;
  const { collective, parts, root, ranks } = schedule;
  const block = Math.floor(chunk / parts);
  switch (collective) {
    case "all_gather":
    case "gather":
      return { chunk, first: block, ranks: 1 };
    case "broadcast":
    case "scatter":
      return { chunk, first: root, ranks: 1 };
    case "scan":
      return { chunk, first: 0, ranks: rank + 1 };
    case "exclusive_scan":
      return { chunk, first: 0, ranks: rank };
    case "all_to_all":
      return { chunk: rank * parts + (chunk % parts), first: block, ranks: 1 };
    case "send_recv":
      return rank === (root + 1) % ranks ? { chunk, first: root, ranks: 1 } : null;
    default:
      return { chunk, first: 0, ranks };
  }
}

/** Completes a schedule's header: blocks and chunks follow from the rest. */
function withLayout(header) {
  const blocks = blocksOf(header.collective, header.ranks);
  return { ...header, blocks, chunks: blocks * header.parts };
}
