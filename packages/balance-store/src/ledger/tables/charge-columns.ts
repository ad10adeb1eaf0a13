/** The columns of a charge, and of a sum of charges, that hold its tokens and its rates. */

export const COUNT_COLUMNS = [
  'inputTokens',
  'outputTokens',
  'cacheReadInputTokens',
  'cacheCreationInputTokens',
  'cacheCreation1hInputTokens',
] as const;

export const RATE_COLUMNS = [
  'inputRate',
  'outputRate',
  'cacheReadRate',
  'cacheWrite5mRate',
  'cacheWrite1hRate',
] as const;

export type CountColumn = (typeof COUNT_COLUMNS)[number];
export type RateColumn = (typeof RATE_COLUMNS)[number];
