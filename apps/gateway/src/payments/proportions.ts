/**
 * The parts of a payment that refunds and disputes take back. Tax is taken back in proportion to
 * the amount, and the last part gets the rest: the parts of a payment that was taken back in full
 * add up to exactly its credit and its tax.
 */

export interface Whole {
  /** What was paid, in the smallest unit of its currency. */
  readonly amountCents: number;
  /** In units of 10^-14 USD, like `tax` and `grain`. */
  readonly credited: bigint;
  readonly tax: bigint;
  /** The tax is a multiple of it, and so is that of a part, but for some units. */
  readonly grain: bigint;
}

export interface Part {
  readonly amountCents: number;
  readonly credited: bigint;
  readonly tax: bigint;
}

/**
 * The next part to be taken back.
 *
 * @param taken - The parts that were taken back before and not returned since.
 * @param amountCents - May exceed what is left: a bank may take back more than was paid. What is
 * beyond the payment has no tax.
 */
export function nextPart(whole: Whole, taken: readonly Part[], amountCents: number): Part {
  const gross = whole.credited + whole.tax;
  const total = BigInt(whole.amountCents);
  const sum = { amount: 0n, gross: 0n, tax: 0n };
  for (const part of taken) {
    sum.amount += BigInt(part.amountCents);
    sum.gross += part.credited + part.tax;
    sum.tax += part.tax;
  }
  const after = sum.amount + BigInt(amountCents);
  const partGross = (gross * after) / total - sum.gross;
  const taxLeft = whole.tax - sum.tax;
  if (after >= total) return partOf(partGross, taxLeft);
  const due = (((whole.tax / whole.grain) * after) / total) * whole.grain - sum.tax;
  // Each part changes the balance. A cent that is paid back might be tax alone otherwise. The
  // ledger's smallest unit is enough, so one stays for each cent that may be a part of its own.
  const creditLeft = gross - sum.gross - taxLeft;
  const least = partGross - (creditLeft - (total - after));
  const most = partGross - 1n < taxLeft ? partGross - 1n : taxLeft;
  const tax = due < least ? least : due;
  return partOf(partGross, tax < 0n ? 0n : tax > most ? most : tax);

  function partOf(money: bigint, tax: bigint): Part {
    return { amountCents, credited: money - tax, tax };
  }
}
