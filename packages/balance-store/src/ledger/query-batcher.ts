/**
 * Combines many look-ups ("questions") into few queries. At most {@link MAX_IN_FLIGHT} queries are
 * in flight, even if there are many questions or the database is slow.
 *
 * The rule is the same as in the Committer: the batch grows with the load, and there is no timer.
 */

/** Queries in flight at once. While there are as many, questions wait for the next query. */
const MAX_IN_FLIGHT = 4;
/**
 * While the last query is younger than this, questions wait for it instead of starting another.
 * Its answer will arrive soon, and one larger query costs less than two.
 */
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
): (question: Question) => Promise<Answer> {
  let queue: Waiting<Question, Answer>[] = [];
  let inFlight = 0;
  let isScheduled = false;
  let lastBatchAt = 0;

  function schedule(): void {
    if (isScheduled || queue.length === 0 || !mayStart()) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      void sendBatch();
    });
  }

  function mayStart(): boolean {
    if (inFlight === 0) return true;
    return inFlight < MAX_IN_FLIGHT && performance.now() - lastBatchAt >= GATHER_MS;
  }

  async function sendBatch(): Promise<void> {
    const batch = queue;
    queue = [];
    inFlight += 1;
    lastBatchAt = performance.now();
    try {
      const answers = await ask(batch.map(({ question }) => question));
      batch.forEach(({ resolve, reject }, index) => {
        const answer = answers[index];
        if (answer === undefined) reject(new Error('the database returned too few answers'));
        else resolve(answer);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      inFlight -= 1;
      schedule();
    }
  }

  return (question) =>
    new Promise((resolve, reject) => {
      queue.push({ question, resolve, reject });
      schedule();
    });
}
