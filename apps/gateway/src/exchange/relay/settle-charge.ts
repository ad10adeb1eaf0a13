/** Makes the charge of a finished response durable, or reports why no charge is confirmed. */

import { StoreUnavailableError } from '@gateway/balance-store';
import type { Settlement, SettleOutcome } from '@gateway/balance-store';
import { isUnbilled } from '@gateway/billing';
import type { AttemptEnd, ModelPrice, PriceTable } from '@gateway/billing';
import type { UncountedUsage, Usage, UsageReading } from '@gateway/translator';
import { findPrice } from '../../base/pricing.js';
import type { Refusal } from '../../http/refusal.js';
import type { ResponseFormat } from '../../http/response-format.js';
import { deliveryRemark } from '../../ledger/delivery.js';
import type { Delivery } from '../../ledger/delivery.js';
import type {
  Charge,
  ChargeRemark,
  ChargedPart,
  LossReason,
} from '../../observe/exchange-report.js';
import type { UpstreamCall } from '../../upstream/upstream.js';
import type { ExchangeParts } from '../exchange-parts.js';
import { costOf, priceUsage } from './price-usage.js';
import type { PricedUsage, UsageToPrice } from './price-usage.js';

export type SettledResponse =
  | ({ readonly outcome: 'charged' } & Charge)
  | { readonly outcome: 'lost'; readonly loss: LossReason; readonly refusal: Refusal };

interface ChargedExchange {
  readonly requestId: string;
  readonly keyId: string;
  readonly price: ModelPrice;
  readonly prices: PriceTable;
  /** Whether the request allows other models than its own to answer. */
  readonly isModelOpen: boolean;
  /** Members of the request that this version does not know, named by the client. */
  readonly unknownMembers: readonly string[];
  readonly call: Pick<UpstreamCall, 'account'>;
  readonly format: Pick<ResponseFormat, 'dialect'>;
}

export type SettleParts = Pick<ExchangeParts, 'store' | 'overdraft' | 'costs'>;

interface FinishedResponse {
  readonly usage: UsageReading;
  readonly messageId: string | undefined;
  /** The model that the response names. */
  readonly model: string | undefined;
  /** The category of a refusal without content; empty if it names none. */
  readonly emptyRefusal?: string | undefined;
  readonly streamed: boolean;
  /** How much the client got, if it has left. */
  readonly delivery?: Delivery | undefined;
}

/** How long a response waits for a database that does not answer. */
const SETTLE_DEADLINE_MS = 90_000;

/**
 * Resolves when the charge is in the ledger, when there will be none, or when the ledger has not
 * confirmed it within the deadline (`ledger_unavailable`): it may still be in the ledger then.
 */
export async function settleCharge(
  response: FinishedResponse,
  exchange: ChargedExchange,
  settling: SettleParts,
): Promise<SettledResponse> {
  const reading = withinReason(response.usage, exchange.price);
  if (reading.outcome === 'invalid') {
    await quarantine(reading.reason, exchange, settling);
    return { outcome: 'lost', loss: 'invalid_usage', refusal: RESPONSE_UNUSABLE };
  }
  const { message, settlements, unpriced, remarks } = chargesOf(
    reading,
    response,
    exchange,
    settling,
  );
  let settled: readonly Settled[];
  try {
    // Settled in the same event-loop tick, so the parts usually share a transaction.
    settled = await Promise.all(settlements.map((settlement) => settle(settlement, settling)));
    await Promise.all(unpriced.map((part) => quarantine(part.reason, part, settling)));
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return { outcome: 'lost', loss: 'ledger_unavailable', refusal: LEDGER_UNAVAILABLE };
  }
  let [charge, writtenOff, balance] = [0n, 0n, 0n];
  let cost: bigint | undefined = 0n;
  const parts: ChargedPart[] = [];
  let setAside = unpriced.length;
  for (const [index, { settlement, outcome }] of settled.entries()) {
    if (outcome.outcome === 'conflict' || outcome.outcome === 'quarantined') {
      if (index === 0) {
        return { outcome: 'lost', loss: 'ledger_refused', refusal: RESPONSE_UNUSABLE };
      }
      // The message is charged already, so only this part of it is lost.
      setAside += 1;
      continue;
    }
    const charged = {
      charge: settlement.amount - outcome.writtenOff,
      writtenOff: outcome.writtenOff,
    };
    if (index > 0) parts.push({ ...settlement, ...charged });
    charge += charged.charge;
    writtenOff += charged.writtenOff;
    cost = sumOfCosts(cost, settlement.cost);
    balance = outcome.balance;
  }
  const { usage, pricing } = message;
  return {
    outcome: 'charged',
    usage,
    pricing,
    charge,
    writtenOff,
    cost,
    balance,
    parts,
    remarks,
    setAside,
  };
}

function sumOfCosts(one: bigint | undefined, other: bigint | undefined): bigint | undefined {
  return one === undefined || other === undefined ? undefined : one + other;
}

interface Charges {
  readonly message: PricedUsage;
  /** The first is that of the message. */
  readonly settlements: readonly Settlement[];
  readonly unpriced: readonly UnpricedPart[];
  readonly remarks: readonly ChargeRemark[];
}

function chargesOf(
  reading: ReadUsage,
  response: FinishedResponse,
  exchange: ChargedExchange,
  { overdraft, costs }: SettleParts,
): Charges {
  const { price, prices } = exchange;
  const { usage, foreign } = divideByPrice(reading, response.model, exchange);
  const others = [...foreign, ...(reading.uncounted ?? [])];
  const { priced, unpriced } = priceParts(others, exchange);
  const end = endOf(response, others.length);
  const message = { usage, price, end, serverToolUse: reading.serverToolUse ?? {} };
  const charged = priceUsage(message, prices, reading);
  const remarks = remarksOf(reading, exchange, charged[0]);
  const unbilled = isUnbilled(end, usage, prices) ? end : undefined;
  let lastPart = others.length + 1;

  const settlementOf = (
    requestId: string,
    { usage: counted, amount, rates, pricing }: PricedUsage,
    part: Pick<Settlement, 'model' | 'remarks'> & { readonly cost: bigint | undefined },
  ): Settlement => ({
    requestId,
    keyId: exchange.keyId,
    usage: counted,
    amount,
    rates,
    ...(pricing === undefined ? {} : { pricing }),
    ...(part.cost === undefined ? {} : { cost: part.cost }),
    remarks: part.remarks,
    overdraft,
    model: part.model,
    endpoint: exchange.format.dialect,
    streamed: response.streamed,
    upstreamId: response.messageId,
    upstreamAccount: exchange.call.account,
  });
  /** The first charge of a part has the cost of the whole part; those of other bands have none. */
  const settlementsOf = (
    requestId: string,
    [first, ...bands]: ReturnType<typeof priceUsage>,
    part: UsageToPrice & Pick<Settlement, 'remarks'> & { readonly remarksOfBands: string },
  ): readonly Settlement[] => {
    const model = part.price.id;
    const cost = costOf(part, costs, reading);
    const costOfBand = cost === undefined ? undefined : 0n;
    return [
      settlementOf(requestId, first, { model, cost, remarks: part.remarks }),
      ...bands.map((band) => {
        lastPart += 1;
        const id = `${exchange.requestId}.${String(lastPart)}`;
        return settlementOf(id, band, { model, cost: costOfBand, remarks: part.remarksOfBands });
      }),
    ];
  };

  const settlements = [
    ...settlementsOf(exchange.requestId, charged, {
      ...message,
      remarks: textOf(remarks, unbilled, response.delivery),
      remarksOfBands: ANOTHER_BAND,
    }),
  ];
  for (const { requestId, kind, ...part } of priced) {
    const toPrice = { ...part, serverToolUse: {} };
    const work = `iterations: ${kind}`;
    const isFree = isUnbilled(part.end, part.usage, prices);
    settlements.push(
      ...settlementsOf(requestId, priceUsage(toPrice, prices, reading), {
        ...toPrice,
        remarks: isFree ? `declined_not_billed; ${work}` : work,
        remarksOfBands: work,
      }),
    );
  }
  return { message: charged[0], settlements, unpriced, remarks };
}

interface Settled {
  readonly settlement: Settlement;
  readonly outcome: SettleOutcome;
}

async function settle(settlement: Settlement, { store }: SettleParts): Promise<Settled> {
  const outcome = await store.settle(settlement, { deadlineMs: SETTLE_DEADLINE_MS });
  return { settlement, outcome };
}

interface PricedPart {
  readonly requestId: string;
  readonly price: ModelPrice;
  readonly usage: Usage;
  readonly kind: string;
  readonly end: AttemptEnd;
}

interface UnpricedPart extends ChargedExchange {
  readonly reason: string;
}

type ReadUsage = Extract<UsageReading, { readonly outcome: 'read' }>;

/**
 * Takes from the message's counts the tokens that other models than the request's own have made,
 * so that they are charged at the rates of those models. If the iterations of the response do not
 * name the models, the response's own `model` does, but only for requests that allow others: to
 * other requests, a name that the price table lacks is another name of the model that they asked
 * for.
 */
function divideByPrice(
  { usage: all, byModel }: ReadUsage,
  answered: string | undefined,
  exchange: ChargedExchange,
): { readonly usage: Usage; readonly foreign: readonly UncountedUsage[] } {
  const { price, prices, isModelOpen } = exchange;
  const ofResponse = isModelOpen && answered !== undefined ? [{ model: answered, usage: all }] : [];
  const foreign = (byModel ?? ofResponse).filter(({ model }) => {
    const found = findPrice(prices, model);
    return found === undefined ? isModelOpen : found.id !== price.id;
  });
  const usage = foreign.reduce((rest, part) => without(rest, part.usage), all);
  return { usage, foreign: foreign.map((part) => ({ ...part, kind: 'message' })) };
}

/** Details may be missing in the part, so the rest of a detail may be larger than its count. */
function without(usage: Usage, part: Usage): Usage {
  const rest = (count: keyof Usage): number => Math.max(0, usage[count] - part[count]);
  const outputTokens = rest('outputTokens');
  const cacheCreationInputTokens = rest('cacheCreationInputTokens');
  return {
    inputTokens: rest('inputTokens'),
    outputTokens,
    cacheReadInputTokens: rest('cacheReadInputTokens'),
    cacheCreationInputTokens,
    cacheCreation1hInputTokens: Math.min(
      rest('cacheCreation1hInputTokens'),
      cacheCreationInputTokens,
    ),
    thinkingTokens: Math.min(rest('thinkingTokens'), outputTokens),
  };
}

/**
 * The tokens of other models, and work that the message's counts do not include, become separate
 * ledger entries, because they may have other rates. A part without a known price is put into
 * quarantine, because prices are never guessed.
 */
function priceParts(
  uncounted: readonly UncountedUsage[],
  exchange: ChargedExchange,
): { readonly priced: readonly PricedPart[]; readonly unpriced: readonly UnpricedPart[] } {
  const priced: PricedPart[] = [];
  const unpriced: UnpricedPart[] = [];
  for (const [index, { kind, model, usage, isDeclined }] of uncounted.entries()) {
    // The message itself is part 1, so the numbers begin at 2. The id is the same at every attempt.
    const requestId = `${exchange.requestId}.${String(index + 2)}`;
    const price = model === undefined ? exchange.price : findPrice(exchange.prices, model);
    if (price !== undefined && usage !== undefined) {
      const end: AttemptEnd = { kind: isDeclined === true ? 'declined' : 'answered' };
      priced.push({ requestId, price, usage, kind, end });
    } else {
      const reason = `usage of ${kind} by ${model ?? 'the same model'} cannot be priced: ${JSON.stringify(usage ?? 'counts unknown')}`;
      unpriced.push({ ...exchange, requestId, reason });
    }
  }
  return { priced, unpriced };
}

/** Begins the remarks of a charge for the model runs of one message in another band. */
const ANOTHER_BAND = 'iterations: another band of prompt length';

/** Without those about circumstances that have a price of their own, which the entry records. */
function remarksOf(
  reading: ReadUsage,
  { unknownMembers }: ChargedExchange,
  { pricing }: PricedUsage,
): readonly ChargeRemark[] {
  const isPriced = ({ detail }: ChargeRemark): boolean => pricing?.terms[detail] !== undefined;
  const remarks = (reading.remarks ?? []).filter((remark) => !isPriced(remark));
  return [...remarks, ...remarkOn(unknownMembers)];
}

/** How the API writes names of members. Others are not repeated: the client chose them. */
const MEMBER_NAME = /^[a-z][a-z_]{0,39}$/;
const MAX_NAMES = 5;

/** The next member of the API that costs more than tokens will be one that is unknown here. */
function remarkOn(unknownMembers: readonly string[]): readonly ChargeRemark[] {
  if (unknownMembers.length === 0) return [];
  const names = unknownMembers
    .slice(0, MAX_NAMES)
    .map((name) => (MEMBER_NAME.test(name) ? name : '(another name)'));
  const more = unknownMembers.length > MAX_NAMES ? ' and more' : '';
  return [{ detail: 'unknown_members', message: `the request has ${names.join(', ')}${more}` }];
}

function textOf(
  remarks: readonly ChargeRemark[],
  unbilled: AttemptEnd | undefined,
  delivery: Delivery | undefined,
): string | undefined {
  const texts = remarks.map(({ detail, message }) => `${detail}: ${message}`);
  if (unbilled?.kind === 'refused') texts.unshift(`refusal_not_billed: ${unbilled.category}`);
  if (delivery !== undefined) texts.unshift(deliveryRemark(delivery));
  return texts.length === 0 ? undefined : texts.join('; ');
}

/**
 * The provider does not bill a refusal before any output, if its category is one of the table's. If
 * other work than the message's own was done, it is charged as usual. See docs/decisions/0058.
 */
function endOf({ emptyRefusal }: FinishedResponse, otherParts: number): AttemptEnd {
  if (emptyRefusal === undefined || otherParts > 0) return { kind: 'answered' };
  return { kind: 'refused', category: emptyRefusal };
}

/**
 * The provider samples a model at most ten times for one message, each time with at most a whole
 * context window, which betas have extended to a million tokens.
 */
const MAX_SAMPLINGS = 10;
const LONGEST_WINDOW = 1_000_000;

/** Counts that no request can have caused are a fault of the upstream, and not charged. */
function withinReason(reading: UsageReading, price: ModelPrice): UsageReading {
  if (reading.outcome === 'invalid') return reading;
  const { usage, uncounted = [] } = reading;
  const window = MAX_SAMPLINGS * Math.max(price.contextWindow, LONGEST_WINDOW);
  for (const counts of [usage, ...uncounted.flatMap((part) => part.usage ?? [])]) {
    const prompt =
      counts.inputTokens + counts.cacheReadInputTokens + counts.cacheCreationInputTokens;
    if (prompt > window || counts.outputTokens > window) {
      const text = `${String(prompt)} prompt tokens and ${String(counts.outputTokens)} output tokens`;
      return { outcome: 'invalid', reason: `no request can have caused ${text}` };
    }
  }
  return reading;
}

/** Sets aside, for the operator, usage that cannot be charged. */
export async function quarantine(
  reason: string,
  { requestId, keyId, price }: Pick<ChargedExchange, 'requestId' | 'keyId' | 'price'>,
  { store }: Pick<SettleParts, 'store'>,
): Promise<void> {
  try {
    await store.quarantine({ requestId, keyId, model: price.id, reason });
  } catch (error) {
    // The loss is counted and logged in any case. The row only makes it easier to find for the
    // operator.
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}

export const RESPONSE_UNUSABLE: Refusal = {
  status: 502,
  type: 'api_error',
  message: 'the upstream answered with something that cannot be charged; nothing was charged',
  shouldRetry: false,
};

const LEDGER_UNAVAILABLE: Refusal = {
  status: 503,
  type: 'api_error',
  message: 'the charge of this response could not be confirmed; it may have been charged',
  shouldRetry: false,
};
