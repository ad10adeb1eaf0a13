/** Checks whether a request that reached the upstream is one that the clients sent. */

import { gistOf } from './gist.mjs';
import { promptOf } from './prompts.mjs';

/**
 * The number of JSON texts of one request that are remembered, so that the same bytes are parsed
 * only once.
 */
const MAX_KNOWN = 8;

/**
 * @param requests - the requests of the workload
 * @param {object} how
 * @param {string} how.fidelity - `bytes` if the contestant must forward native requests unchanged
 * @param {(answer: any) => any} how.wireOf - returns the `wire` of an answer: the bytes that the
 *   upstream sends for it
 * @returns `check`, which returns the `wire` of the answer to a request, or the `problem` with the
 * request
 */
export function createExpectation(requests, { fidelity, wireOf }) {
  const expected = requests.map((request) => {
    const { format, answer } = request;
    const native = promptOf({ ...request, format: 'native', stream: answer.kind === 'stream' });
    return {
      known: format === 'native' ? [native] : [],
      gist: format === 'native' && fidelity === 'bytes' ? undefined : gistOf(parsed(native)),
      wire: wireOf(answer),
    };
  });

  function find(body) {
    const same = expected.find(({ known }) => known.some((bytes) => bytes.equals(body)));
    if (same !== undefined) return same;
    if (expected.every(({ gist }) => gist === undefined)) return undefined;
    const gist = gistOf(parsed(body));
    const found = expected.find((request) => request.gist === gist);
    if (found !== undefined && found.known.length < MAX_KNOWN) found.known.push(body);
    return found;
  }

  return {
    check(head, body) {
      const problem = problemOfHead(head);
      if (problem !== undefined) return { problem };
      try {
        const found = find(body);
        if (found !== undefined) return { wire: found.wire };
      } catch {
        return { problem: 'the request is not a JSON request of the Messages API' };
      }
      return { problem: "the request differs from the client's" };
    },
  };
}

function problemOfHead(head) {
  if (!/^POST \/v1\/messages[ ?]/.test(head)) return `the path is ${head.slice(0, 60)}`;
  if (!/\r\n(x-api-key: *|authorization: *bearer +)benchmark(\r|$)/i.test(head)) {
    return "the upstream's key is missing";
  }
  return /\r\nanthropic-version: *\d/i.test(head) ? undefined : 'anthropic-version is missing';
}

function parsed(body) {
  return JSON.parse(body.toString());
}
