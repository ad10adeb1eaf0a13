/**
 * Books charges that the ledger lost, for example because a backup was restored. The charges come
 * from the gateway's log or from usage that clients recorded.
 */

import { z } from 'zod';
import type { BalanceStore, LedgerEntry, SettledUsage, Settlement } from '@gateway/balance-store';
import { UNBILLED_RATES, formatUsd, chargeOfAttempt, usageProblem } from '@gateway/billing';
import type { ModelPrice, PriceTable, PricedAttempt } from '@gateway/billing';
import { findPrice, settledPricingOf } from '../../base/pricing.js';
import { keyId, time, unsignedAmountUsd } from '../../endpoints/fields.js';
import { line } from '../../endpoints/storable.js';
import type { OperationContext } from './operation.js';

const count = z.int().min(0);

/**
 * The form of the gateway's request ids; charges of the parts of one request end in `.2`, `.3` and
 * so on. No other entry has an id of this form, so a charge cannot take the id of another entry.
 */
const requestId = line
  .min(1)
  .max(200)
  .regex(/^req_[\w-]+(\.\d+)?$/, 'must be a request id of the gateway, such as req_…');

export const lostCharge = z.strictObject({
  request_id: requestId,
  key_id: keyId,
  model: line.min(1).max(200),
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  /** The part of `cache_creation_input_tokens` that is cached for an hour. */
  cache_creation_1h_input_tokens: count.default(0),
  /** When the request began; if absent, now. The rates of this time apply. */
  at: time.optional(),
  endpoint: z.enum(['messages', 'chat.completions', 'responses']).default('messages'),
  streamed: z.boolean().default(false),
  /** The upstream account that answered, if there are several. */
  upstream_account: line.min(1).max(100).optional(),
  /**
   * As the gateway's log has it. Absent, as in usage that clients recorded: the counts decide the
   * band of the prompt, and there are no fees.
   */
  pricing: z
    .object({
      terms: z.object({
        /** Absent: the usual rates. Several runs of a message may be one charge of this band. */
        above_prompt_tokens: z
          .string()
          .regex(/^\d{1,10}$/)
          .optional(),
        speed: line.max(40).optional(),
        service_tier: line.max(40).optional(),
        inference_geo: line.max(40).optional(),
      }),
      fees: z.array(z.object({ what: line.max(40), units: count })).max(20),
    })
    .optional(),
  /** If given, the sum of this amount and `written_off_usd` must equal the cost of the counts. */
  charge_usd: unsignedAmountUsd.optional(),
  written_off_usd: unsignedAmountUsd.default(0n),
  /** Whether the log says that it cost nothing, as a refusal may. */
  is_unbilled: z.boolean().default(false),
  /** What it cost the operator, as the log has it. Absent: by the costs of its time. */
  cost_usd: unsignedAmountUsd.optional(),
});
export type LostChargeInput = z.input<typeof lostCharge>;
type LostCharge = z.output<typeof lostCharge>;

export interface RefusedCharge {
  readonly request_id: string;
  readonly reason: string;
}

const SETTLE_DEADLINE_MS = 30_000;
/** The clock of the record may be ahead of that of the ledger by this much. */
const CLOCK_MARGIN_MS = 600_000;

/**
 * Charges each request whose charge is not in the ledger, at the rates of its time, by the prices
 * that its account has now. A charge in the
 * ledger stays as it is, so repeating changes nothing. A request whose charge may be archived
 * is refused, because the ledger no longer knows whether it was charged.
 */
export async function recharge(charges: readonly LostCharge[], context: OperationContext) {
  const { store } = context;
  const entries = await store.findEntries([...new Set(charges.map((lost) => lost.request_id))]);
  const known = new Map(entries.map((entry) => [entry.id, entry]));
  const archived = (await store.listArchives()).at(-1)?.until;
  const refused: RefusedCharge[] = [];
  let [present, booked, charged] = [0, 0, 0n];
  // One after the other, so that a request that is named twice is found the second time.
  for (const lost of charges) {
    const { request_id } = lost;
    const entry = known.get(request_id);
    const outcome =
      entry === undefined
        ? await bookUnlessArchived(lost, archived, context)
        : { problem: differenceFrom(entry, lost) };
    if ('entry' in outcome) {
      known.set(request_id, outcome.entry);
      booked += 1;
      charged -= outcome.entry.delta;
    } else if (outcome.problem === undefined) {
      present += 1;
    } else {
      refused.push({ request_id, reason: outcome.problem });
    }
  }
  return {
    object: 'recharge' as const,
    booked,
    charged_usd: formatUsd(charged),
    already_charged: present,
    refused,
  };
}

function bookUnlessArchived(
  lost: LostCharge,
  archived: Date | undefined,
  context: OperationContext,
): ReturnType<typeof book> {
  if (archived === undefined) return book(lost, context);
  const until = archived.toISOString();
  if (lost.at === undefined) {
    return Promise.resolve({
      problem: `at: is missing; charges before ${until} are archived, and this may be one of them`,
    });
  }
  if (lost.at.getTime() < archived.getTime() + CLOCK_MARGIN_MS) {
    return Promise.resolve({
      problem: `at: charges before ${until} are archived, and this may be one of them`,
    });
  }
  return book(lost, context);
}

async function book(
  lost: LostCharge,
  { store, prices, costsAt, overdraft, by }: OperationContext,
): Promise<{ readonly entry: LedgerEntry } | { readonly problem: string }> {
  const usage = usageOf(lost);
  const problem = usageProblem(usage);
  if (problem !== undefined) return { problem };
  const key = await store.getKey(lost.key_id);
  if (key === undefined) {
    return {
      problem: 'key_id: the ledger has no such key; it may have been created after the backup',
    };
  }
  const reading = prices.of(key.prices);
  if ('problem' in reading) return { problem: `key_id: ${reading.problem}` };
  const at = lost.at?.getTime() ?? Date.now();
  const table = reading.schedule.at(at);
  const price = findPrice(table, lost.model);
  if (price === undefined) return { problem: 'model: is not in the price table' };
  const { amount, rates, pricing } = pricedRecord(lost, usage, { price, table });
  const recorded = lost.charge_usd === undefined ? amount : lost.charge_usd + lost.written_off_usd;
  if (recorded !== amount) {
    return {
      problem:
        `charge_usd: with written_off_usd, the record says ${formatUsd(recorded)}, ` +
        `but the price table of that time gives ${formatUsd(amount)}`,
    };
  }
  const when = lost.at === undefined ? '' : `, request of ${lost.at.toISOString()}`;
  const outcome = await store.settle(
    {
      requestId: lost.request_id,
      keyId: lost.key_id,
      amount,
      overdraft,
      model: price.id,
      usage,
      rates,
      pricing,
      cost: lost.cost_usd ?? costOfRecord(lost, usage, costsAt(at)),
      endpoint: lost.endpoint,
      streamed: lost.streamed,
      upstreamId: undefined,
      upstreamAccount: lost.upstream_account,
      remarks: `charged from a record by ${by.name}${when}`,
    },
    { deadlineMs: SETTLE_DEADLINE_MS },
  );
  return bookedEntry(lost, outcome.outcome, store);
}

async function bookedEntry(
  { request_id }: LostCharge,
  outcome: string,
  store: BalanceStore,
): Promise<{ readonly entry: LedgerEntry } | { readonly problem: string }> {
  const [entry] = await store.findEntries([request_id]);
  if (entry !== undefined && outcome !== 'conflict') return { entry };
  return { problem: `the ledger did not book this charge: ${outcome}` };
}

/** @returns how the key or the counts differ from the record; `undefined` if they do not */
function differenceFrom(entry: LedgerEntry, lost: LostCharge): string | undefined {
  if (entry.kind !== 'charge') return 'request_id: belongs to an entry that is not a charge';
  if (entry.keyId !== lost.key_id) return 'key_id: the ledger has this charge under another key';
  const [had, given] = [countsText(entry.usage), countsText(usageOf(lost))];
  return had === given ? undefined : `the ledger has other counts: ${had} instead of ${given}`;
}

function usageOf(lost: LostCharge): SettledUsage {
  return {
    inputTokens: lost.input_tokens,
    outputTokens: lost.output_tokens,
    cacheReadInputTokens: lost.cache_read_input_tokens,
    cacheCreationInputTokens: lost.cache_creation_input_tokens,
    cacheCreation1hInputTokens: lost.cache_creation_1h_input_tokens,
  };
}

function pricedRecord(
  lost: LostCharge,
  usage: SettledUsage,
  { price, table }: { readonly price: ModelPrice; readonly table: PriceTable },
): Pick<Settlement, 'amount' | 'rates' | 'pricing'> {
  if (lost.is_unbilled) return { amount: 0n, rates: UNBILLED_RATES, pricing: undefined };
  const charge = chargeOfAttempt(attemptOf(lost, usage), price, table.fees);
  return { amount: charge.total, rates: charge.rates, pricing: settledPricingOf(charge) };
}

/** `undefined` if it is not known: the record does not say why it cost the customer nothing. */
function costOfRecord(
  lost: LostCharge,
  usage: SettledUsage,
  table: PriceTable | undefined,
): bigint | undefined {
  const price = table && findPrice(table, lost.model);
  if (table === undefined || price === undefined || lost.is_unbilled) return undefined;
  return pricedRecord(lost, usage, { price, table }).amount;
}

function attemptOf({ pricing }: LostCharge, usage: SettledUsage): PricedAttempt {
  const { above_prompt_tokens: above = '-1', ...terms } = pricing?.terms ?? {};
  const { speed, service_tier, inference_geo } = terms;
  return {
    usage,
    ...(pricing === undefined ? {} : { promptTokens: Number(above) + 1 }),
    circumstances: { speed, serviceTier: service_tier, inferenceGeo: inference_geo },
    serverToolUse: Object.fromEntries(
      (pricing?.fees ?? []).map(({ what, units }) => [what, units]),
    ),
  };
}

function countsText(usage: SettledUsage): string {
  return [
    `input ${String(usage.inputTokens)}`,
    `output ${String(usage.outputTokens)}`,
    `cache read ${String(usage.cacheReadInputTokens)}`,
    `cache creation ${String(usage.cacheCreationInputTokens)}`,
    `of it for 1 hour ${String(usage.cacheCreation1hInputTokens)}`,
  ].join(', ');
}
