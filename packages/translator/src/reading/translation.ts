/**
 * What the parts of one request's translation share: the notes they take, and how they refuse. One
 * object per request, never shared between requests.
 */

import type { CacheControl } from '../chat-client/request/native-request.js';
import type { Note, RequestProblem } from './note.js';
import type { Place } from './place.js';

export interface Translation {
  readonly notes: Note[];
  /** How many notes did not fit into `notes`. */
  notesLeftOut: number;
  /** Where the client wrote each cache point that was accepted so far. */
  readonly cachePlaces: Map<CacheControl, Place>;
}

export function createTranslation(): Translation {
  return { notes: [], notesLeftOut: 0, cachePlaces: new Map() };
}

/** The notes taken; beyond their limit, one last note says how many more there were. */
export function finishNotes({ notes, notesLeftOut }: Translation): readonly Note[] {
  if (notesLeftOut === 0) return notes;
  return [
    ...notes,
    { path: '', reason: 'dropped', detail: `${notesLeftOut} more notes were left out` },
  ];
}

/**
 * Thrown by any part of the translation to refuse the whole, and turned into a value where the
 * translation began: it never leaves this package.
 */
export class RefusedRequestError extends Error {
  readonly problem: RequestProblem;

  constructor(problem: RequestProblem) {
    super(problem.message);
    this.problem = problem;
  }
}
