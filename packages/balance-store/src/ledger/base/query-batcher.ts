/**
 * Combines many look-ups ("questions") into few queries. Only so many queries are in flight, even
 * if there are many questions or the database is slow.
 */

import { Batches } from './batches.js';
import type { BatchesOptions } from './batches.js';

/** While there are as many queries in flight, questions wait for the next one. */
const LOOK_UPS = { maxInFlight: 4 };
const GATHER_MS = 5;

interface Waiting<Question, Answer> {
  readonly question: Question;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * @param ask - Sends one query. It receives all questions of one event-loop tick, or all that were
 * asked while a query was in flight, and returns the answers in the same order.
 * @returns A function that asks one question. Its query starts after the question was asked, so no
 * answer is older than its question.
 */
export function createQueryBatcher<Question, Answer>(
  ask: (questions: readonly Question[]) => Promise<readonly Answer[]>,
  limits: Pick<BatchesOptions<Question>, 'maxInFlight' | 'maxSize'> = LOOK_UPS,
): (question: Question) => Promise<Answer> {
  const batches = new Batches<Waiting<Question, Answer>>({
    async send(batch) {
      try {
        const answers = await ask(batch.map(({ question }) => question));
        batch.forEach(({ resolve, reject }, index) => {
          const answer = answers[index];
          if (answer === undefined) reject(new Error('the database returned too few answers'));
          else resolve(answer);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    },
    ...limits,
    gatherMs: GATHER_MS,
  });
  return (question) =>
    new Promise((resolve, reject) => {
      batches.add({ question, resolve, reject });
    });
}
