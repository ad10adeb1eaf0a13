import type { RequestProblem } from './note.js';

/**
 * Thrown by any part of a translation to refuse the whole request. The function that started the
 * translation catches it and returns the problem as a value, so it never leaves this package.
 */
export class RefusedRequestError extends Error {
  readonly problem: RequestProblem;

  constructor(problem: RequestProblem) {
    super(problem.message);
    this.problem = problem;
  }
}
