/** One client: asks one request at a time on its own connection, and keeps count. */

import { createCheck } from './checks.mjs';
import { createConnection } from './connection.mjs';

/** What all clients of one load have in common: what to ask whom, and what came of it. */
export function createTally(requests) {
  return {
    /** Right answers, by request. */
    answered: requests.map(() => 0),
    failed: 0,
    /** The first reasons. */
    failures: [],
  };
}

/**
 * @param target.requests - each with its `bytes`, its `answer` and its `format`
 * @returns `ask(index, onAnswer, onFirstByte)`; `onAnswer` is called whatever came
 */
export function createClient({ port, requests, fidelity }, tally) {
  const prepared = requests.map(({ bytes, answer, format }) => ({
    bytes,
    check: createCheck({ answer, format, fidelity }),
  }));
  let asked;
  const connection = createConnection({
    port,
    onFirstByte: () => asked.onFirstByte(),
    onDone(problem) {
      if (problem === undefined) {
        tally.answered[asked.index] += 1;
      } else {
        tally.failed += 1;
        if (tally.failures.length < 3) tally.failures.push(problem);
      }
      asked.onAnswer(problem);
    },
  });
  return {
    ask(index, onAnswer, onFirstByte = ignore) {
      asked = { index, onAnswer, onFirstByte };
      connection.send(prepared[index]);
    },
    close: () => connection.close(),
  };
}

function ignore() {
  // Nobody wants to know.
}
