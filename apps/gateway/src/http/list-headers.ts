/** What is said beside a list in headers, because CSV has no members for it. */

/** The cursor of the next page. */
export const NEXT_CURSOR = 'x-gateway-next-cursor';

/**
 * Charges before this time are archived, and the list lacks them; only if it could have had some.
 */
export const ARCHIVED_UNTIL = 'x-gateway-archived-until';

/** Requests are recorded since this time: earlier ones were deleted, or there were none. */
export const RECORDED_FROM = 'x-gateway-recorded-from';

/** The range that a report used. */
export function rangeHeaders({ from, until }: Range): Readonly<Record<string, string>> {
  return { 'x-gateway-from': from, 'x-gateway-until': until };
}

/** Two times as ISO 8601; the range ends before `until`. */
interface Range {
  readonly from: string;
  readonly until: string;
}
