/** Axes: the ticks, and the position of a value between 0 and 1. */

const STEPS = [1, 2, 2.5, 5, 10];
const WANTED_TICKS = 3;

/** Starts at zero, so that the lengths of bars can be compared. */
export function linearScale(greatest) {
  const rough = greatest / WANTED_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (STEPS.find((candidate) => candidate * power >= rough) ?? NaN);
  const count = Math.ceil(greatest / step);
  const ticks = Array.from({ length: count + 1 }, (_, i) => i * step);
  return { ticks, place: (value) => Math.max(0, value) / (count * step) };
}

/** Powers of ten around the values, for times that differ by orders of magnitude. */
export function logScale(values) {
  const lowest = Math.floor(Math.log10(Math.min(...values)));
  const highest = Math.max(lowest + 1, Math.ceil(Math.log10(Math.max(...values))));
  const ticks = Array.from({ length: highest - lowest + 1 }, (_, i) => 10 ** (lowest + i));
  return { ticks, place: (value) => (Math.log10(value) - lowest) / (highest - lowest) };
}
