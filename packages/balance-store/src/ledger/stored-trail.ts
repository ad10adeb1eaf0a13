/** Turns a row of the trail into a {@link TrailEntry}. */

import type { TrailEntry } from '../trail.js';

export interface StoredTrail {
  readonly seq: bigint;
  readonly createdAt: Date;
  readonly actor: string;
  readonly address: string | null;
  readonly action: string;
  readonly accountId: string | null;
  readonly keyId: string | null;
  readonly details: string;
  readonly personalId: string | null;
}

/** @param text - The row's personal text; `undefined` if it was erased or there was none. */
export function trailEntryOf(
  { details, personalId, ...row }: StoredTrail,
  text: string | undefined,
): TrailEntry {
  return {
    ...row,
    details: JSON.parse(details) as TrailEntry['details'],
    personal:
      text === undefined
        ? personalId === null
          ? undefined
          : 'erased'
        : (JSON.parse(text) as Readonly<Record<string, unknown>>),
  };
}
