// The numbers that ranks add. Contributions say whose data a chunk has; with these numbers one sees
// the sums, too. The inputs are the same on every page, so that a lesson can speak of them.

/** Digits of pi: small, so that sums have few digits. */
const inputDigits = "3141592653589793238462643383279502884197169399375105820974944592";

/** A vector has four numbers, or as many as it has chunks, if those are more or do not divide it. */
const numbersInChunk = (schedule) => (schedule.chunks < 4 && 4 % schedule.chunks === 0
  ? 4 / schedule.chunks : 1);

/** What a rank's chunk holds at the start. */
function inputNumbers(schedule, rank, chunk) {
  const each = numbersInChunk(schedule);
  const first = (rank * schedule.chunks + chunk) * each;
  return Array.from({ length: each }, (_, i) => Number(inputDigits[(first + i) % inputDigits.length]));
}

/** Whether a stage has room for numbers at all. A barrier sends none. */
const hasNumbers = (schedule) =>
  schedule.ranks <= 8 && schedule.chunks <= 8 && !isToken(schedule.collective);

const numbersText = (value) => value.numbers.join(" ");

/** "5 + 9 = 14": what a message did to the receiver's own chunk, number by number. */
function additionText(message, result) {
  return message.values[0].numbers.map((number, i) => {
    const sum = result.numbers[i];
    return `${sum - number} + ${number} = ${sum}`;
  }).join(", ");
}
