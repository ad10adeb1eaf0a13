/** One client: sends one request at a time on its own connection, and counts the results. */

import { createCheck } from './checks.mjs';
import { createConnection } from './connection.mjs';

/** The results, which all clients of one load share. */
export function createTally(requests) {
  return {
    /** Number of correct responses, by request. */
    answered: requests.map(() => 0),
    failed: 0,
    /** The reasons of the first failures. */
    failures: [],
  };
}

/**
 * @param target.requests - each with its `nextHead`, `body`, `answer` and `format`
 * @returns `ask(index, onAnswer, onFirstByte)`; `onAnswer` is called after success and failure
 */
export function createClient({ port, requests, fidelity }, tally) {
  const prepared = requests.map(({ nextHead, body, answer, format }) => ({
    nextHead,
    body,
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
  // Default for callers that do not need the first byte.
}
