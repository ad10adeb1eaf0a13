/**
 * Which of the shares that a customer chose are passed when the used part of a balance or of a cap
 * grows. `settle_batch` has the same rule for charges on PostgreSQL.
 */

/**
 * @param shares - In percent, from 1 to 100.
 * @param change.whole - The balance after the last credit, or the cap.
 * @returns the shares that the used part has reached and had not reached before
 */
export function reachedShares(
  shares: readonly number[],
  {
    whole,
    before,
    after,
  }: { readonly whole: bigint; readonly before: bigint; readonly after: bigint },
): readonly number[] {
  if (whole <= 0n) return [];
  return shares.filter((share) => {
    const mark = whole * BigInt(share);
    return before * 100n < mark && mark <= after * 100n;
  });
}
