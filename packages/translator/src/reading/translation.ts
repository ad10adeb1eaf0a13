/** Creates the shared state of one translation, and completes the notes that it returns. */

import type { Note } from './note.js';
import type { Translation } from './place.js';

export function createTranslation(): Translation {
  return { notes: [], notesLeftOut: 0, schemaWork: 0, cachePlaces: new Map() };
}

/** The notes of a translation. If their limit was reached, a last one says how many are missing. */
export function finishNotes({ notes, notesLeftOut }: Translation): readonly Note[] {
  if (notesLeftOut === 0) return notes;
  return [
    ...notes,
    { path: '', reason: 'dropped', detail: `${notesLeftOut} more notes were left out` },
  ];
}
