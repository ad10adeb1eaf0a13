/** Folds questions to the database into few queries, however many are asked and however slow it is. */

/** Queries in flight at once; while there are so many, questions gather for the next one. */
const LANES = 4;
/** Questions gather behind a query that has taken no longer than this: it is about to be answered. */
const PROMPT_MS = 5;

interface Asked<Question, Answer> {
  readonly question: Question;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * @param ask - Gets everything asked for in a turn of the event loop, or while a query was under way, and
 * answers in the same order.
 * @returns asks for one. The query starts after it was asked for, so no answer is older than its question.
 */
export function createTurnBatcher<Question, Answer>(
  ask: (questions: readonly Question[]) => Promise<readonly Answer[]>,
): (question: Question) => Promise<Answer> {
  let waiting: Asked<Question, Answer>[] = [];
  let busyLanes = 0;
  let isScheduled = false;
  let lastAskedAt = 0;

  function schedule(): void {
    if (isScheduled || busyLanes >= LANES || waiting.length === 0) return;
    if (busyLanes > 0 && performance.now() - lastAskedAt < PROMPT_MS) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      void flush();
    });
  }

  async function flush(): Promise<void> {
    const asked = waiting;
    waiting = [];
    busyLanes += 1;
    lastAskedAt = performance.now();
    try {
      const answers = await ask(asked.map(({ question }) => question));
      asked.forEach(({ resolve, reject }, index) => {
        const answer = answers[index];
        if (answer === undefined) reject(new Error('the database answered less than was asked'));
        else resolve(answer);
      });
    } catch (error) {
      for (const { reject } of asked) reject(error);
    } finally {
      busyLanes -= 1;
      schedule();
    }
  }

  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ question, resolve, reject });
      schedule();
    });
}
