/**
 * Lets bookings wait outside of the database. A booking holds a session and the lock of its account
 * for several round trips. If all bookings that a holder asks for were started at once, they would
 * take every session, and a batch of charges with one of this account would wait for all of them:
 * other customers' requests too.
 */

import { StoreUnavailableError } from '../../store.js';
import type { Actor } from '../../account.js';
import type { BookArgs, BookName, BookResult, RunBook } from '../books/index.js';

/** Bookings in the database at once. */
const AT_ONCE = 2;
/** A booking that has no turn after this time is not made. */
const TURN_TIMEOUT_MS = 10_000;

/** The bookings that somebody asks for; `undefined` asks for the operator's and the store's own. */
export type BookFor = (by: Actor | undefined) => RunBook;

/** Everybody who is not a holder. */
const OTHERS = '';

/**
 * @returns a function that books in turns: each account whose holders wait, and everybody else
 * together, gets one turn after another. Holders of one account have one booking at a time.
 */
export function createBookingTurns(
  book: RunBook,
  { timeoutMs = TURN_TIMEOUT_MS }: { readonly timeoutMs?: number } = {},
): BookFor {
  /** Those who wait, by whose turn it is; who comes next is first. */
  const waiting = new Map<string, (() => void)[]>();
  const active: string[] = [];

  function startNext(): void {
    if (active.length >= AT_ONCE) return;
    for (const [owner, starts] of waiting) {
      if (owner !== OTHERS && active.includes(owner)) continue;
      const start = starts.shift();
      waiting.delete(owner);
      if (starts.length > 0) waiting.set(owner, starts);
      if (start === undefined) continue;
      active.push(owner);
      start();
      startNext();
      return;
    }
  }

  function waitForTurn(owner: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const starts = waiting.get(owner) ?? [];
      waiting.set(owner, starts);
      const timer = setTimeout(() => {
        starts.splice(starts.indexOf(start), 1);
        reject(new StoreUnavailableError(`no booking could begin within ${String(timeoutMs)} ms`));
      }, timeoutMs);
      const start = () => {
        clearTimeout(timer);
        resolve();
      };
      starts.push(start);
      startNext();
    });
  }

  async function inTurn<Name extends BookName>(
    owner: string,
    name: Name,
    args: BookArgs<Name>,
  ): Promise<BookResult<Name>> {
    await waitForTurn(owner);
    try {
      return await book(name, ...args);
    } finally {
      active.splice(active.indexOf(owner), 1);
      startNext();
    }
  }

  return (by) =>
    (name, ...args) =>
      inTurn(by?.holderOf ?? OTHERS, name, args);
}
