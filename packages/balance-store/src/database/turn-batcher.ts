/** Folds what is asked for in one turn of the event loop into one query. */

/**
 * @param ask - Gets everything asked for in a turn and answers in the same order.
 * @returns asks for one. The query starts after the last of its turn was asked for, so no answer is older
 * than its question.
 */
export function createTurnBatcher<Question, Answer>(
  ask: (questions: readonly Question[]) => Promise<readonly Answer[]>,
): (question: Question) => Promise<Answer> {
  let turn:
    { readonly questions: Question[]; readonly answers: Promise<readonly Answer[]> } | undefined;

  async function askAtEndOfTurn(questions: readonly Question[]): Promise<readonly Answer[]> {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    turn = undefined;
    return ask(questions);
  }

  return async function askSoon(question) {
    if (turn === undefined) {
      const questions: Question[] = [];
      turn = { questions, answers: askAtEndOfTurn(questions) };
    }
    const { answers } = turn;
    const index = turn.questions.push(question) - 1;
    const answer = (await answers)[index];
    if (answer === undefined) throw new Error('the database answered fewer than it was asked');
    return answer;
  };
}
