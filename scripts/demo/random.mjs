/** Numbers that look random, the same for the same seed. */

/** @param {string} seed */
export function createRandom(seed) {
  let state = 0x9e3779b9;
  for (const char of seed) state = Math.imul(state ^ char.charCodeAt(0), 0x85ebca6b);

  /** At least 0 and below 1. */
  function next() {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  return {
    next,
    /** An integer, both ends included. */
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    /** Whether something of this probability happens. */
    happens: (probability) => next() < probability,
    /**
     * Many small values and few large ones, as token counts and durations are.
     *
     * @returns an integer around the median
     */
    around: (median, spread = 0.6) => {
      const normal = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
      return Math.max(1, Math.round(median * Math.exp(spread * normal)));
    },
    /** One of the options, each as often as its weight says. */
    pick: (weights) => {
      const entries = Object.entries(weights);
      let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [option, weight] of entries) {
        left -= weight;
        if (left < 0) return option;
      }
      return entries[0][0];
    },
    /** @param {number} length */
    hex: (length) => Array.from({ length }, () => Math.floor(next() * 16).toString(16)).join(''),
  };
}
