/** A timeout that waits longer when this process itself, and not the database, is late. */

/** The longest timer of Node, some 25 days. Longer ones fire after 1 ms. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A timeout is this many short timers, one after the other. */
const PARTS = 10;

/**
 * Settles as `answer` does, or rejects after `timeoutMs` with the error that `errorOf` makes of a
 * message.
 *
 * A process that gets no CPU time cannot read an answer that has arrived. In each part of the
 * timeout the event loop reads its sockets at least once, so a process that is late waits longer.
 */
export function withTimeout<T>(
  answer: Promise<T>,
  timeoutMs: number,
  errorOf: (message: string) => Error = (message) => new Error(message),
): Promise<T> {
  return new Promise((resolve, reject) => {
    let partsLeft = PARTS;
    let isSettled = false;
    let timer = startPart();

    function startPart(): NodeJS.Timeout {
      return setTimeout(() => {
        // In an event-loop tick, timers run before sockets are read, and immediates run after.
        setImmediate(() => {
          if (isSettled) return;
          partsLeft -= 1;
          if (partsLeft > 0) timer = startPart();
          else reject(errorOf(`no answer within ${String(timeoutMs)} ms`));
        });
      }, timeoutMs / PARTS);
    }

    const stop = (): void => {
      isSettled = true;
      clearTimeout(timer);
    };
    answer.then(resolve, reject).finally(stop);
  });
}
