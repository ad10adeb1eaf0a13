/** The provider's counts of tokens and its costs, by UTC day and model. */

export interface ReportRange {
  /** 00:00 UTC of the first day. */
  readonly from: Date;
  /** 00:00 UTC of the day after the last. */
  readonly until: Date;
}

/** The classes of tokens that have a price of their own. */
export const TOKEN_CLASSES = [
  'input',
  'output',
  'cache_read',
  'cache_write_5m',
  'cache_write_1h',
] as const;
export type TokenClass = (typeof TOKEN_CLASSES)[number];

export interface ReportedUsage {
  readonly day: string;
  readonly model: string;
  readonly tokens: Readonly<Record<TokenClass, bigint>>;
}

export interface ReportedCost {
  readonly day: string;
  /** `null` for costs that belong to no model. */
  readonly model: string | null;
  /** A {@link TokenClass}, or the provider's word for something else, such as `web_search`. */
  readonly item: string;
  /** In units of 10^-14 USD. */
  readonly amount: bigint;
}

export interface ProviderReports {
  readUsage(range: ReportRange): Promise<readonly ReportedUsage[]>;
  readCosts(range: ReportRange): Promise<readonly ReportedCost[]>;
}

/** The reports on some of the upstream accounts: those that one or more organizations pay for. */
export interface AccountReports extends ProviderReports {
  /** The names of these accounts; `undefined`: all charges of the ledger. */
  readonly accounts: readonly string[] | undefined;
}

/**
 * @param account - The name of an upstream account; `undefined`: all accounts.
 * @returns the reports, or why they cannot be read; `unknown`: there is no such account
 */
export type OpenReports = (
  account: string | undefined,
) =>
  AccountReports | { readonly lack: 'unknown' | 'ADMIN_KEY'; readonly accounts: readonly string[] };

/** The reports could not be read. The message says why, and never contains the key. */
export class ProviderReportError extends Error {
  override readonly name = 'ProviderReportError';
}
