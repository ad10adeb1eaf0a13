/** Ways in which a bill can differ from the ledger in one line. */

import { billedAttempt, countsOf } from './bill-of-list.js';
import type { BilledAttempt } from './bill-of-list.js';
import type { Attempt } from './list-vectors.js';

/** @returns the place of an attempt that it applies to, and what the bill has instead */
type Change = (bill: readonly BilledAttempt[]) => readonly [number, readonly BilledAttempt[]];

const changed =
  (
    isMeant: (attempt: BilledAttempt, bill: readonly BilledAttempt[]) => boolean,
    instead: (attempt: BilledAttempt, bill: readonly BilledAttempt[]) => readonly BilledAttempt[],
  ): Change =>
  (bill) => {
    const index = bill.findIndex((attempt) => isMeant(attempt, bill));
    const found = bill[index];
    return [index, found === undefined ? [] : instead(found, bill)];
  };

/** The bill has the attempt as if it had these members. */
const as = (
  isMeant: (attempt: BilledAttempt) => boolean,
  change: (of: Attempt) => Partial<Attempt>,
): Change => changed(isMeant, ({ day, of }) => [billedAttempt(day, { ...of, ...change(of) })]);

const counts = (of: Attempt, more: (counts: ReturnType<typeof countsOf>) => Attempt['usage']) => ({
  usage: { ...of.usage, ...more(countsOf(of)) },
});
const isPlain = ({ of, cost }: BilledAttempt): boolean =>
  cost > 0n && of.circumstances === undefined && of.end === undefined;
const BAND = 100_000;

export const CHANGED_BILLS: Readonly<Record<string, Change>> = {
  'the ledger lacks a request': changed(isPlain, (attempt) => [attempt, attempt]),
  'the ledger has a request twice': changed(isPlain, () => []),
  'a request was of another model': as(
    (attempt) => isPlain(attempt) && attempt.model !== 'claude-opus-5',
    () => ({ model: 'claude-opus-5' }),
  ),
  'cache reads were plain input': as(
    (attempt) => isPlain(attempt) && attempt.tokens.read > 0,
    (of) =>
      counts(of, ({ input, read }) => ({
        input_tokens: input + read,
        cache_read_input_tokens: 0,
      })),
  ),
  'five-minute writes lived an hour': as(
    (attempt) => isPlain(attempt) && attempt.tokens.write5m > 0,
    (of) =>
      counts(of, ({ write5m, write1h }) => ({ cache_creation_1h_input_tokens: write5m + write1h })),
  ),
  'searches are not billed': as(
    ({ searches }) => searches > 0n,
    () => ({ server_tool_use: {} }),
  ),
  'one more search is billed': as(isPlain, ({ server_tool_use: used = {} }) => ({
    server_tool_use: { web_search_requests: (used['web_search_requests'] ?? 0) + 1 },
  })),
  'one more token is billed': as(isPlain, (of) =>
    counts(of, ({ output }) => ({ output_tokens: output + 1 })),
  ),
  'a request was on another day': changed(isPlain, ({ day, of }, bill) => [
    billedAttempt(bill.find((other) => other.day !== day)?.day ?? '', of),
  ]),
  'fast mode cost nothing more': as(
    ({ of }) => of.circumstances?.['speed'] !== undefined,
    () => ({ circumstances: {} }),
  ),
  'a batch cost the full price': as(
    ({ of }) => of.circumstances?.['serviceTier'] !== undefined,
    () => ({ circumstances: {} }),
  ),
  'a region cost nothing more': as(
    ({ of }) => of.circumstances?.['inferenceGeo'] !== undefined,
    () => ({ circumstances: {} }),
  ),
  'a free refusal was billed': as(
    ({ of, cost }) => of.end?.kind === 'refused' && cost === 0n,
    () => ({ end: { kind: 'answered' } }),
  ),
  'a billed refusal was free': as(
    ({ of, cost }) => of.end?.kind === 'refused' && cost > 0n,
    () => ({ end: { kind: 'refused', category: 'cyber' } }),
  ),
  'a short prompt was in the higher band': changed(
    ({ model, cost, of }) =>
      model === 'claude-haiku-5-5' && cost === billedAttempt('2026-01-02', of, 0).cost && cost > 0n,
    ({ day, of }) => [billedAttempt(day, of, BAND + 1)],
  ),
};
