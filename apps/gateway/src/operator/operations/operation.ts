/** An operation: one action of an operator, with its input and its result. */

import type { z } from 'zod';
import type { Actor, BalanceStore, KeyRecord, Settlement } from '@gateway/balance-store';
import type { PriceSchedule, PriceTable } from '@gateway/billing';
import type { Bookkeeping } from '../../config/bookkeeping.js';
import type { HomeCosts } from '../../config/home-tables.js';
import type { PriceSchedules } from '../../config/price-schedules.js';
import type { Reloader } from '../../config/reloader.js';
import type { Right } from '../../config/admin-tokens.js';
import type { Method, ResultOf } from '../../endpoints/endpoint.js';
import type { Issuer } from '../../endpoints/statement/statement-facts.js';
import type { TextFormat } from '../../endpoints/text-format.js';
import type { KeyTokens } from '../../ledger/key-tokens.js';
import type { Payments } from '../../payments/payments.js';
import type { OpenReports } from '../../upstream/provider-reports/reports.js';
import type { UpstreamModelsReading } from '../../upstream/upstream-models.js';
import type { LiveGateway } from './live.js';

export interface OperationContext {
  readonly store: BalanceStore;
  /**
   * The current price table. `at` gives that of another time, in milliseconds since the epoch, and
   * `of` the prices of an account.
   */
  readonly prices: PriceTable &
    Pick<PriceSchedule, 'at' | 'nextChange'> &
    Pick<PriceSchedules, 'of' | 'owned'>;
  /** What requests cost the operator at a time; `undefined` if that is not configured. */
  readonly costsAt: (atMs: number) => PriceTable | undefined;
  /** The same for answers of an upstream account; `undefined` if it has no costs of its own. */
  readonly costsAtHome?: HomeCosts;
  /** `undefined` in the command line if no upstream is configured. */
  readonly upstreamModels: (() => Promise<UpstreamModelsReading>) | undefined;
  readonly overdraft: Settlement['overdraft'];
  readonly defaultLimits: KeyRecord['limits'];
  /**
   * When the balance of a new account falls to this amount, the event `balance.low` is written. In
   * units of 10^-14 USD.
   */
  readonly lowBalance: bigint | undefined;
  readonly readLinks: KeyTokens;
  /** Links that show a key once. */
  readonly keyLinks: KeyTokens;
  /** The address at which browsers reach the gateway, if it is known. */
  readonly publicUrl: string | undefined;
  /**
   * Sends such a link to the member whose key it is, and returns why that failed; `undefined` if no
   * mail can be sent.
   */
  readonly mailKeyLink: MailKeyLink | undefined;
  /** Who runs the gateway, for its customers. */
  readonly operator: Issuer | undefined;
  /** The time zone in which months begin and end. */
  readonly booksZone: string;
  /** Account numbers for journals; `undefined` if they are not configured. */
  readonly bookkeeping: Bookkeeping | undefined;
  /** Whether events are sent to a receiver. */
  readonly sendsEvents: boolean;
  /** Whether notices are sent by mail. */
  readonly sendsMail: boolean;
  readonly settingsDesk: Pick<Reloader, 'report' | 'reload' | 'change'>;
  /** `undefined` in the command line. */
  readonly live: LiveGateway | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** `undefined` unless a provider is configured. */
  readonly payments: Payments | undefined;
  /** Reports of the upstream's provider; `undefined` unless there is a key for them. */
  readonly reports: OpenReports;
  /** Called while an audit reads the ledger, with the number of entries so far. */
  readonly onProgress?: ((entries: number) => void) | undefined;
  /** The operator or program that asks, for the trail. */
  readonly by: Actor;
}

export type MailKeyLink = (link: {
  readonly to: string;
  readonly url: string;
  /** For the id of the mail. */
  readonly link: string;
  readonly expiresAt: Date;
}) => Promise<string | undefined>;

type Way = Extract<Method, 'get' | 'post' | 'patch'>;

export interface Operation<
  Input extends z.ZodType,
  Output extends z.ZodType,
  By extends Way = Way,
  Path extends string = string,
> {
  readonly method: By;
  /** `:name` stands for a member of the input. The others go into the query or the body. */
  readonly path: Path;
  readonly right: Right;
  readonly input: Input;
  readonly output: Output;
  /** For the API's description. */
  readonly summary: string;
  readonly run: (input: z.output<Input>, context: OperationContext) => Promise<ResultOf<Output>>;
  /** What the member `format` of the input may be besides `json`. */
  readonly formats?: Readonly<Record<string, TextFormat<ResultOf<Output>>>>;
  /** Whether the result is a list that is written as CSV if `format` is `csv`. */
  readonly isAlsoCsv?: true;
}

export function operation<
  Input extends z.ZodType,
  Output extends z.ZodType,
  By extends Way,
  Path extends string,
>(definition: Operation<Input, Output, By, Path>): Operation<Input, Output, By, Path> {
  return definition;
}

export { list } from '../../endpoints/list.js';
