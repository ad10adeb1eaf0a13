/** At which percents of a balance or a cap a notice is sent, as people type and read them. */

export const SHARES_RULE = 'Different whole numbers from 1 to 100, at most ten.';

export function percents(shares: readonly number[]): string {
  return shares.length === 0 ? 'none' : shares.map((share) => `${String(share)} %`).join(', ');
}

const MOST_SHARES = 10;

/** @returns `undefined` if the text is not a list of shares */
export function readShares(text: string): number[] | undefined {
  const shares = text
    .split(',')
    .map((share) => share.replace('%', '').trim())
    .filter((share) => share !== '')
    .map(Number);
  const isValid =
    shares.length <= MOST_SHARES &&
    new Set(shares).size === shares.length &&
    shares.every((share) => Number.isInteger(share) && share >= 1 && share <= 100);
  return isValid ? shares.sort((one, other) => one - other) : undefined;
}
