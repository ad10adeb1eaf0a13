/** The colours of series, which are in a fixed order in the style sheet. */

/** The style sheet has this many classes `s0`, `s1` and so on. */
export const COLORS = 8;

/** Chosen so that the newest models of the default price table have different colours. */
const SEED = 434_536;

/**
 * Depends on the name alone. A rank or a position in a list would change with the measure, the days
 * and the account.
 *
 * @returns the class of the colour
 */
export function colorOf(name: string): string {
  let hash = SEED;
  for (let index = 0; index < name.length; index += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x5bd1e995);
    hash ^= hash >>> 15;
  }
  return `s${String((hash >>> 0) % COLORS)}`;
}

/** Another colour, for a name beside one that has the same. */
export function nextColor(color: string): string {
  return `s${String((Number(color.slice(1)) + 1) % COLORS)}`;
}
