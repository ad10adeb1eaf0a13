/**
 * The charges of one response: that of the message, and those of work that has other rates or that
 * the counts of the message leave out. Used for live responses, and for records of lost charges.
 */

import type { SettleOutcome, Settlement, Spender } from '@gateway/balance-store';
import { isUnbilled } from '@gateway/billing';
import type { AttemptEnd, ModelPrice, PriceTable } from '@gateway/billing';
import type { Decline, UncountedUsage, Usage, UsageReading } from '@gateway/translator';
import { findPrice } from '../base/pricing.js';
import type { CostsAtHome } from '../config/home-tables.js';
import { FREE_COUNTERS } from '../config/tool-families.js';
import type { ResponseFormat } from '../http/response-format.js';
import { inGeography } from './cost-at-home.js';
import type { PricesAtHomes } from './cost-at-home.js';
import { deliveryRemark } from './delivery.js';
import type { Delivery } from './delivery.js';
import { foldOutcomes } from './fold-outcomes.js';
import type { ChargeRemark, Charged } from './fold-outcomes.js';
import { costOf, priceUsage } from './price-usage.js';
import type { PricedUsage, UsageToPrice } from './price-usage.js';

export interface ChargedExchange {
  readonly requestId: string;
  readonly keyId: string;
  /** As it was when the request was admitted. */
  readonly spender: Spender | undefined;
  readonly price: ModelPrice;
  /** The table in force when the request was admitted. */
  readonly prices: PriceTable;
  /** The tables of then of accounts that have their own; `undefined` if none has. */
  readonly homePrices?: PricesAtHomes | undefined;
  /** The geography that the request names; read only if accounts have costs of their own. */
  readonly inferenceGeo?: string | undefined;
  /** Whether the request allows other models than its own to answer. */
  readonly isModelOpen: boolean;
  /** Members of the request that this version does not know, named by the client. */
  readonly unknownMembers: readonly string[];
  readonly call: { readonly account?: string | undefined };
  readonly format: Pick<ResponseFormat, 'dialect'>;
}

export interface FinishedResponse {
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

interface ChargePlan {
  /** The first is that of the message. */
  readonly settlements: readonly Settlement[];
  readonly unpriced: readonly UnpricedPart[];
  /** See {@link foldOutcomes}. */
  readonly chargedBy: (outcomes: readonly SettleOutcome[]) => Charged | undefined;
}

export interface ChargeRules extends Pick<Settlement, 'overdraft'> {
  readonly costs: PriceTable | undefined;
  /** Of the account that answered, if it has costs or a place of its own. */
  readonly atHome?: CostsAtHome | undefined;
}

export function chargesOf(
  reading: ReadUsage,
  response: FinishedResponse,
  exchange: ChargedExchange,
  { overdraft, costs, atHome }: ChargeRules,
): ChargePlan {
  const { price, prices } = exchange;
  const { usage, foreign, declined } = divideByPrice(reading, response.model, exchange);
  const endOfMessage = endOf(response, reading.uncounted ?? []);
  const others = [
    ...foreign.map((part) => ({ ...part, end: endOfAttempt(part, endOfMessage) })),
    ...(reading.uncounted ?? []).map((part) => ({ ...part, end: endOfAttempt(part, ANSWERED) })),
  ];
  const { priced, unpriced } = priceParts(others, exchange);
  const end = endOfAttempt({ declined }, endOfMessage);
  const toPrice = { usage, price, end, serverToolUse: reading.serverToolUse ?? {} };
  const charged = priceUsage(toPrice, prices, reading);
  const remarks = remarksOf(reading, exchange, charged[0]);
  const unbilled = isUnbilled(end, prices) ? end : undefined;
  let lastPart = others.length + 1;

  const settlementOf = (
    requestId: string,
    { usage: counted, amount, rates, pricing }: PricedUsage,
    part: Pick<Settlement, 'model' | 'remarks'> & { readonly cost: bigint | undefined },
  ): Settlement => ({
    requestId,
    keyId: exchange.keyId,
    spender: exchange.spender,
    usage: counted,
    amount,
    rates,
    pricing,
    cost: part.cost,
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
    const geography = exchange.inferenceGeo ?? atHome?.placeOf(model);
    const cost = costOf(part, atHome?.costs ?? costs, inGeography(reading, geography));
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
      ...toPrice,
      remarks: textOf(remarks, unbilled, response.delivery),
      remarksOfBands: ANOTHER_BAND,
    }),
  ];
  for (const { requestId, kind, ...part } of priced) {
    const toPrice = { ...part, serverToolUse: {} };
    const work = `iterations: ${kind}`;
    const unbilledPart = isUnbilled(part.end, prices) ? part.end : undefined;
    settlements.push(
      ...settlementsOf(requestId, priceUsage(toPrice, prices, reading), {
        ...toPrice,
        remarks: [...unbilledRemark(unbilledPart), work].join('; '),
        remarksOfBands: work,
      }),
    );
  }
  const [message] = charged;
  return {
    settlements,
    unpriced,
    chargedBy: (outcomes) =>
      foldOutcomes({ message, settlements, remarks, unpriced: unpriced.length }, outcomes),
  };
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

export type ReadUsage = Extract<UsageReading, { readonly outcome: 'read' }>;

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
): {
  readonly usage: Usage;
  readonly foreign: readonly UncountedUsage[];
  /** Present if `usage` is that of an attempt of the request's own model, which declined. */
  readonly declined: Decline | undefined;
} {
  const { price, prices, isModelOpen } = exchange;
  const ofResponse = isModelOpen && answered !== undefined ? [{ model: answered, usage: all }] : [];
  const foreign = (byModel ?? ofResponse).filter(({ model }) => {
    const found = findPrice(prices, model);
    return found === undefined ? isModelOpen : found.id !== price.id;
  });
  const usage = foreign.reduce((rest, part) => without(rest, part.usage), all);
  const own = byModel?.find(({ model }) => findPrice(prices, model)?.id === price.id);
  return {
    usage,
    foreign: foreign.map((part) => ({ ...part, kind: 'message' })),
    declined: own?.declined,
  };
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
  uncounted: readonly (UncountedUsage & Pick<PricedPart, 'end'>)[],
  exchange: ChargedExchange,
): { readonly priced: readonly PricedPart[]; readonly unpriced: readonly UnpricedPart[] } {
  const priced: PricedPart[] = [];
  const unpriced: UnpricedPart[] = [];
  for (const [index, { kind, model, usage, end }] of uncounted.entries()) {
    // The message itself is part 1, so the numbers begin at 2. The id is the same at every attempt.
    const requestId = `${exchange.requestId}.${String(index + 2)}`;
    const price = model === undefined ? exchange.price : findPrice(exchange.prices, model);
    if (price !== undefined && usage !== undefined) {
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
  { unknownMembers, prices }: ChargedExchange,
  { pricing }: PricedUsage,
): readonly ChargeRemark[] {
  const isPriced = ({ detail }: ChargeRemark): boolean => pricing?.terms[detail] !== undefined;
  const remarks = (reading.remarks ?? []).filter((remark) => !isPriced(remark));
  const unpriced = Object.entries(reading.serverToolUse ?? {}).filter(
    ([counter]) => !prices.fees.has(counter) && !FREE_COUNTERS.has(counter),
  );
  return [...remarks, ...remarkOnUses(unpriced), ...remarkOn(unknownMembers)];
}

/** The table has no fee for them, not even one of 0, and the provider may bill them. */
function remarkOnUses(uses: readonly (readonly [string, number])[]): readonly ChargeRemark[] {
  if (uses.length === 0) return [];
  const texts = uses.slice(0, MAX_NAMES).map(([counter, count]) => `${counter}: ${String(count)}`);
  const more = uses.length > MAX_NAMES ? ' and more' : '';
  return [{ detail: 'server_tool_use', message: `no fee for ${texts.join(', ')}${more}` }];
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
  texts.unshift(...unbilledRemark(unbilled));
  if (delivery !== undefined) texts.unshift(deliveryRemark(delivery));
  return texts.length === 0 ? undefined : texts.join('; ');
}

function unbilledRemark(end: AttemptEnd | undefined): readonly string[] {
  return end?.kind === 'refused' ? [`refusal_not_billed: ${end.category ?? 'no category'}`] : [];
}

const ANSWERED: AttemptEnd = { kind: 'answered' };

/** @param otherwise - How the attempt ended if no other model went on after it. */
function endOfAttempt(
  { declined }: { readonly declined?: Decline | undefined },
  otherwise: AttemptEnd,
): AttemptEnd {
  return declined === undefined ? otherwise : { kind: 'refused', category: declined.category };
}

/**
 * How the message ended. It is refused before any output if it has no content and no other work was
 * done for it but that of models that declined. See docs/decisions/0058.
 */
function endOf(
  { emptyRefusal }: FinishedResponse,
  uncounted: readonly UncountedUsage[],
): AttemptEnd {
  if (emptyRefusal === undefined || uncounted.some(({ declined }) => declined === undefined)) {
    return ANSWERED;
  }
  return { kind: 'refused', category: emptyRefusal === '' ? undefined : emptyRefusal };
}
