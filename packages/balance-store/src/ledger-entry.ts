/** One immutable line of the ledger. Corrections are new entries. */

import type { CreditSource, EntryReason } from './account.js';
import type { ChargePart } from './budget.js';
import type { Spender } from './spender.js';

/** The four token classes of one finished request, and the one-hour part of the cache writes. */
export interface SettledUsage {
  /** Prompt tokens that neither came from the cache nor were written to it. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  /** All cache writes, of either lifetime. */
  readonly cacheCreationInputTokens: number;
  /** The part of `cacheCreationInputTokens` with a lifetime of one hour. */
  readonly cacheCreation1hInputTokens: number;
}

/** In the order of the ledger's columns. */
export function countsOf(
  usage: SettledUsage,
): [input: number, output: number, cacheRead: number, cacheCreation: number, of1h: number] {
  return [
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadInputTokens,
    usage.cacheCreationInputTokens,
    usage.cacheCreation1hInputTokens,
  ];
}

/**
 * The rates one request was priced at, per token, in units of 10^-14 USD. They are recorded with
 * the entry, so that an audit can recompute the amount after the price table has changed.
 */
export interface SettledRates {
  readonly inputPerToken: bigint;
  readonly outputPerToken: bigint;
  readonly cacheReadPerToken: bigint;
  readonly cacheWrite5mPerToken: bigint;
  readonly cacheWrite1hPerToken: bigint;
}

/** How the rates of a charge were chosen, and its fees. */
export interface SettledPricing {
  /** The circumstances that decided, such as `speed: fast`. */
  readonly terms: Readonly<Record<string, string>>;
  readonly fees: readonly SettledFee[];
}

/** A fee for units that are not tokens. */
export interface SettledFee {
  readonly what: string;
  readonly units: number;
  /** In units of 10^-14 USD. */
  readonly perUnit: bigint;
}

/** What is recorded of a charge besides amounts. */
export interface ChargeDetails {
  readonly model: string;
  readonly usage: SettledUsage;
  readonly rates: SettledRates;
  /** Its fees belong to the amount. Absent if that is tokens at the usual rates. */
  readonly pricing?: SettledPricing | undefined;
  /**
   * What the request cost the operator, in units of 10^-14 USD, if that is known. A replay with
   * another cost changes nothing and is no conflict.
   */
  readonly cost?: bigint | undefined;
  /** The format of the request: `messages`, `chat.completions` or `responses`. */
  readonly endpoint: string;
  readonly streamed: boolean;
  /** The upstream's own id of the message, if it sent one. */
  readonly upstreamId: string | undefined;
  /** Which of several upstream accounts answered, by its name. */
  readonly upstreamAccount?: string | undefined;
  /** Oddities of the usage object, for the operator. At most 500 characters are kept. */
  readonly remarks?: string | undefined;
}

interface EntryCommon {
  /**
   * For a charge, the request id. For the other entries, the caller's id as part of `topup:<id>`,
   * `adjustment:<id>`, `fee:<id>`, `transfer:<id>:out` or `transfer:<id>:in`. Entries without a
   * caller's id have `expiry:<id of the credit's entry>:<seq>`, `opening:<account id>`, or
   * `topup:initial:<account id>:<seq>` for a credit that is given when an account or a key is
   * created.
   */
  readonly id: string;
  readonly accountId: string;
  /** Gap-free per account, from 1. */
  readonly seq: bigint;
  /** Change of the balance, in units of 10^-14 USD: negative or zero for charges. */
  readonly delta: bigint;
  readonly balanceAfter: bigint;
  readonly createdAt: Date;
}

/** Entries that people or the store itself make. */
interface Booked extends EntryCommon {
  readonly actor: string;
  readonly reference: string | undefined;
  /** `erased` if there was a note and its text was erased. */
  readonly note: { readonly text: string } | 'erased' | undefined;
  /**
   * The part of `delta` that is given money, not paid; in an entry `opening`, the part of the
   * balance. `undefined` in entries of earlier versions: it is not known.
   */
  readonly given: bigint | undefined;
  /**
   * The account of the operator from which the money comes, or to which it goes: `cash:<provider>`,
   * `given`, `breakage`, `refunds`, `corrections`, `bad_debt`, `transfers`, or `unknown` for what
   * earlier versions booked. `undefined` in entries of earlier versions.
   */
  readonly counter: string | undefined;
  /** In units of 10^-14 USD: what was paid beside `delta`, and is owed as tax. */
  readonly tax: bigint;
  /** What the provider of a payment kept, in the same unit. */
  readonly fee: bigint;
  /** The id of the entry that this one undoes. */
  readonly reverses: string | undefined;
}

export type ChargeEntry = EntryCommon &
  ChargeDetails & {
    readonly kind: 'charge';
    readonly keyId: string;
    /** Who spent it, besides the key. Tag and run are absent if they were erased. */
    readonly spender: Spender | undefined;
    /** What reserves paid of it. Each budget that passes a part on names its payers apart. */
    readonly parts: readonly ChargePart[];
    /**
     * The part of `delta` that was paid from given money, in units of 10^-14 USD: zero or below.
     * Zero, too, before the account's entry `opening`, when nobody recorded it.
     */
    readonly given: bigint;
    /** In units of 10^-14 USD. Tokens times rates, and fees, are `-delta + writtenOff`. */
    readonly writtenOff: bigint;
    /**
     * The part of `writtenOff` that the balance would have covered, but a cap of the key forbade.
     * Entries since migration 20261125100000 have 0 here: caps no longer reduce charges.
     */
    readonly overCap: bigint;
  };

export type LedgerEntry =
  | ChargeEntry
  | (Booked & {
      readonly kind: 'top_up';
      readonly source: CreditSource;
      /** When the unused part of the credit expires. */
      readonly expiresAt: Date | undefined;
    })
  | (Booked & { readonly kind: 'adjustment'; readonly reason: EntryReason })
  /**
   * Takes the unused part of a credit that has expired. `reference` is the id of that credit's
   * entry.
   */
  | (Booked & { readonly kind: 'expiry' });

export interface EntryFilter {
  /** All accounts when absent. */
  readonly accountId?: string;
  /** Charges of this key, and all other entries of its account. Only with `accountId`. */
  readonly keyId?: string;
  readonly kind?: LedgerEntry['kind'];
  /** Leaves out charges. */
  readonly withoutCharges?: boolean;
  /** Leaves out what changes no balance: fees, and the entry that opens an account. */
  readonly withoutFees?: boolean;
  readonly model?: string;
  /** Charges of the message that has this id at the upstream. An index serves it. */
  readonly upstreamId?: string;
  /** Inclusive. */
  readonly from?: Date;
  /** Exclusive. */
  readonly until?: Date;
  readonly limit: number;
  /** `next` of the previous page. */
  readonly cursor?: string;
}

/** Newest first. */
export interface EntryPage {
  readonly entries: readonly LedgerEntry[];
  /** Absent on the last page. */
  readonly next?: string;
  /**
   * If present, charges before this time are archived, and the page lacks those that the filter
   * asked for.
   */
  readonly archivedUntil?: Date;
}
