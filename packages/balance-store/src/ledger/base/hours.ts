/** Totals of usage and what caps count from are kept by the hour. */

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
