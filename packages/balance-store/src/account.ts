/** An account owns money. Every key belongs to one account, whose keys share its balance. */

import type { KeyRecord, NewKey } from './key.js';
import type { ListOrder } from './list-order.js';
import type { Metadata } from './metadata.js';

export type AccountStatus = 'active' | 'suspended' | 'closed';

/** What operators set of an account: the columns with `@setting` in the schema. */
export interface AccountSettings {
  readonly name: string;
  /** The operator's own id of the account. Unique among accounts. */
  readonly externalId: string | null;
  readonly metadata: Metadata;
  /** The event `balance.low` is written when the balance falls to this amount or below. */
  readonly lowBalance: bigint | null;
  /**
   * What the account pays, in words that only the caller understands: a factor, or the name of a
   * price table. `null`: what others pay.
   */
  readonly prices: string | null;
  /**
   * A promotional credit of each calendar month (UTC), which expires at its end. While the account
   * is suspended it gets none. A change applies from the next month on, if the account has had one
   * in this month.
   */
  readonly allowance: bigint | null;
  /**
   * In percent: at most 10 ascending integers from 1 to 100. An event is written when this share of
   * the balance or of a key's cap is used: `balance.share` or `cap.share`. Without any, none is.
   */
  readonly noticeShares: readonly number[];
  /** Where mail about these shares, a balance that is used up and failed top-ups is sent. */
  readonly noticeEmail: string | null;
  /**
   * Whether the keys of members show the account's money: `true` in calls and on the customer's
   * page, `false` in neither, `null` in calls only. The ledger only keeps it.
   */
  readonly membersSeeBalance: boolean | null;
}

export interface AccountRecord extends AccountSettings {
  /** `acct_` and a sortable id: safe in logs. */
  readonly id: string;
  /**
   * While it is `suspended`, none of its keys works, also those that are created meanwhile. Once it
   * is `closed`, its keys are revoked, and it gets neither keys nor money.
   */
  readonly state: AccountStatus;
  /** When it can have the next allowance; `null` without one. */
  readonly allowanceDueAt: Date | null;
  /** The earliest expiry of a credit that was not spent when this was last computed. */
  readonly nextExpiryAt: Date | null;
  /**
   * The balance after the last credit, of which `noticeShares` are shares, less what was taken
   * since by other entries than charges.
   */
  readonly noticeBase: bigint;
  /** What took the balance to zero or below since the last credit; `null` for charges. */
  readonly emptiedBy: EmptiedBy | null;
  /**
   * In units of 10^-14 USD, as are all amounts; may be negative. Credit that has expired is not in
   * it, but in `expired`, also before its expiry is booked.
   */
  readonly balance: bigint;
  /** The part of the balance that was given, not paid; credit that has expired may be in it. */
  readonly given: bigint;
  /** Sum of all charges so far. */
  readonly spent: bigint;
  /** Sum of all top-ups so far. */
  readonly credited: bigint;
  /** Sum of all adjustments so far; may be negative. */
  readonly adjusted: bigint;
  /** Sum of all credit that has expired. */
  readonly expired: bigint;
  /** Sum of all write-offs: parts of charges that could not be charged. */
  readonly writtenOff: bigint;
  /** The sum written off since money was last added, because the balance did not cover it. */
  readonly uncovered: bigint;
  /** How many keys are neither suspended, alone or with the account, nor revoked nor expired. */
  readonly usableKeys: number;
  readonly createdAt: Date;
  readonly lastChargedAt: Date | null;
}

/** What is absent is not changed. */
export type AccountChange = {
  readonly [Name in keyof AccountSettings]?: AccountSettings[Name] | undefined;
};

/** What is absent is null or empty. */
export type NewAccount = AccountChange & Pick<AccountSettings, 'name'>;

/** The author of a change, as the trail records it. */
export interface Actor {
  /** The name of an operator's token, the id of a key, or a fixed name such as `cli`. No secret. */
  readonly name: string;
  /** The address or network from which the change was requested, if known. */
  readonly address?: string | undefined;
  /**
   * The id of the account, if a holder of its keys asks. What an operator decided about a key binds
   * holders, and the bookings of one account's holders are made one after another.
   */
  readonly holderOf?: string | undefined;
}

export type CreditSource = 'paid' | 'promotional';

/** An account with its first key and its first credit, or a key of an account that exists. */
export interface Creation {
  /** Chosen by the caller. A replay with the same id creates nothing. */
  readonly creationId?: string | undefined;
  readonly account: NewAccount | { readonly id: string };
  readonly key?: NewKey | undefined;
  /**
   * The most keys that the account may have, this one included. Revoked keys do not count. Counted
   * in the transaction that creates the key, so creations at once cannot exceed it.
   */
  readonly maxKeys?: number | undefined;
  readonly credit?:
    | {
        readonly amount: bigint;
        readonly source: CreditSource;
        readonly expiresAt?: Date | undefined;
      }
    | undefined;
  readonly by: Actor;
}

/** Without `usableKeys`: a creation would take longer the more keys the account has. */
export type CreatedAccount = Omit<AccountRecord, 'usableKeys'>;

export type CreationOutcome =
  | {
      readonly outcome: 'created';
      readonly account: CreatedAccount;
      readonly key: KeyRecord | undefined;
      /** Not stored anywhere, and cannot be shown again. */
      readonly credential: string | undefined;
    }
  /** An earlier creation with this id made these records. Nothing changed. */
  | {
      readonly outcome: 'replayed';
      readonly account: CreatedAccount;
      readonly key: KeyRecord | undefined;
    }
  /** The id was used before for something else. */
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'unknown_account' | 'account_closed' }
  /** The account has no such member, or no such group, for the key. */
  | { readonly outcome: 'unknown_member' }
  /** The account has `maxKeys` keys already. */
  | { readonly outcome: 'too_many_keys' }
  | { readonly outcome: 'external_id_taken'; readonly of: 'account' | 'key' };

export interface AccountFilter {
  readonly limit: number;
  /** `newest` when absent. */
  readonly order?: ListOrder | undefined;
  /** The {@link listCursorOf} of the last account of the previous page. */
  readonly after?: string | undefined;
  /**
   * Part of the name. Upper and lower case are the same. On PostgreSQL, the locale of the database
   * says which letters belong together.
   */
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
  /** Only records that have all of these pairs. */
  readonly metadata?: Metadata | undefined;
}

/** Why a balance changed, if it was neither a charge nor a top-up. */
export type AdjustmentReason =
  'refund' | 'chargeback' | 'correction' | 'goodwill' | 'write_off' | 'transfer';

/**
 * Why an adjustment was booked. Two reasons change no balance: `fee` is what the provider of a
 * payment kept; `opening` states how much of a balance was given, of an account whose earlier
 * entries do not say so.
 */
export type EntryReason = AdjustmentReason | 'fee' | 'opening';

/** What took a balance to zero or below, if charges did not. */
export type EmptiedBy = 'expiry' | AdjustmentReason;

export interface Adjustment {
  /** Chosen by the caller; a replay with the same id changes nothing. */
  readonly adjustmentId: string;
  readonly accountId: string;
  /** In units of 10^-14 USD, of either sign, not zero. */
  readonly amount: bigint;
  readonly reason: Exclude<AdjustmentReason, 'transfer'>;
  /** Can be erased later. */
  readonly note?: string | undefined;
  /** The id of a payment, an order or an entry. */
  readonly reference?: string | undefined;
  /** The operator's account from or to which the money goes. By default the one of the reason. */
  readonly counter?: string | undefined;
  /** Tax that is paid beside the amount, or paid back beside it (below zero). */
  readonly tax?: bigint | undefined;
  readonly by: Actor;
}

/**
 * Undoes an entry exactly: its amount, its tax, and the credits that it took from or added. What a
 * credit no longer has is taken from other money.
 */
export interface Reversal {
  /** Chosen by the caller, of the same ids as those of adjustments. */
  readonly adjustmentId: string;
  readonly accountId: string;
  /** The id of a credit or an adjustment, but of no transfer. Each is undone at most once. */
  readonly reverses: string;
  readonly note?: string | undefined;
  readonly reference?: string | undefined;
  readonly by: Actor;
}

export type ReversalOutcome =
  | AdjustmentOutcome
  | {
      readonly outcome: 'not_reversible';
      /** `reversed`: an earlier reversal names the same entry. */
      readonly why: 'unknown_entry' | 'kind' | 'reversed';
    };

/** What the provider of a payment kept: a cost of the operator. It changes no balance. */
export interface Fee {
  /** Chosen by the caller; a replay with the same id changes nothing. */
  readonly feeId: string;
  readonly accountId: string;
  /** In units of 10^-14 USD. Below zero if the provider gave a fee back. */
  readonly fee: bigint;
  /** Which account of the operator it was taken from, such as `cash:stripe`. */
  readonly counter: string;
  readonly reference?: string | undefined;
  readonly by: Actor;
}

export interface AccountBalance {
  /** The account's balance after this entry, in units of 10^-14 USD. */
  readonly balance: bigint;
  /** How many keys of the account may make requests now. */
  readonly activeKeys: number;
}

export type AdjustmentOutcome =
  | ({ readonly outcome: 'adjusted' | 'replayed' } & AccountBalance)
  /** The id was used before for another account, amount, reason or reference. */
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'unknown_account' }
  /** It would leave money in an account that is closed. */
  | { readonly outcome: 'account_closed' };

export interface Transfer {
  readonly transferId: string;
  readonly from: string;
  readonly to: string;
  /** In units of 10^-14 USD. Above zero. */
  readonly amount: bigint;
  readonly note?: string | undefined;
  readonly by: Actor;
}

export type TransferOutcome =
  | {
      readonly outcome: 'transferred' | 'replayed';
      /** The balances of both accounts after the transfer, in units of 10^-14 USD. */
      readonly fromBalance: bigint;
      readonly toBalance: bigint;
    }
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'unknown_account' | 'account_closed'; readonly accountId: string }
  /** The balance minus the holds of requests in flight does not cover the amount. */
  | { readonly outcome: 'short'; readonly free: bigint };

/** What becomes of the paid money that a closed account leaves. Nobody is paid by the ledger. */
export type ClosingRest =
  /** It is paid out. @member counter - From which account of the operator, such as `cash:bank`. */
  | { readonly as: 'refund'; readonly counter: string }
  | { readonly as: 'transfer'; readonly to: string }
  /** It lapses, and is the operator's. */
  | { readonly as: 'breakage' };

export interface Closing {
  /** Chosen by the caller; a replay with the same id changes nothing. */
  readonly closingId: string;
  readonly accountId: string;
  /** Needed if paid money is left. Given money goes back to the operator in any case. */
  readonly rest?: ClosingRest | undefined;
  /** What becomes of a debt. `refuse`: the account is not closed while it owes something. */
  readonly debt: 'write_off' | 'refuse';
  /** Can be erased later. */
  readonly reason: string;
  readonly by: Actor;
}

/** What a closing booked, in units of 10^-14 USD. None is negative. */
export interface ClosedWith {
  /** Paid money, which went where {@link Closing.rest} says. */
  readonly rest: bigint;
  /** Given money, which the operator took back. */
  readonly givenBack: bigint;
  readonly writtenOff: bigint;
}

export type ClosingOutcome =
  | ({
      readonly outcome: 'closed' | 'replayed';
      readonly account: AccountRecord;
    } & ClosedWith)
  /** The id was used before for another account or another choice. */
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'unknown_account' | 'account_closed'; readonly accountId: string }
  /** So much is held for requests in flight. Close the account again when they have ended. */
  | { readonly outcome: 'in_flight'; readonly held: bigint }
  | { readonly outcome: 'in_debt'; readonly owed: bigint }
  /** So much paid money is left, and `rest` does not say what becomes of it. */
  | { readonly outcome: 'rest_undecided'; readonly rest: bigint };

/** The money of an account by its origin, in units of 10^-14 USD. */
export interface UnspentCredit {
  /**
   * The rest of each credit that expires or was given for free, in the order in which charges use
   * them.
   */
  readonly lots: readonly {
    readonly entryId: string;
    readonly source: CreditSource;
    readonly expiresAt: Date | null;
    readonly remaining: bigint;
  }[];
  /** All other money: paid and adjusted. Never below zero. */
  readonly other: bigint;
}
