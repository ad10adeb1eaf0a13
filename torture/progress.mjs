const EVERY_MS = 10_000;

/**
 * Prints how far a part has come, at most once in ten seconds.
 *
 * @param {(text: string) => void} say
 * @returns {(text: () => string) => void} - call this after each step; `text` is called only if its
 *   result is printed
 */
export function createProgress(say) {
  let lastSaid = Date.now();
  return (text) => {
    if (Date.now() - lastSaid < EVERY_MS) return;
    lastSaid = Date.now();
    say(text());
  };
}
