/**
 * Books charges that the ledger lost, for example because a backup was restored. The charges come
 * from the gateway's log or from usage that clients recorded.
 */

import { z } from 'zod';
import type {
  KeyRecord,
  LedgerEntry,
  SettledUsage,
  Settlement,
  Spender,
} from '@gateway/balance-store';
import { UNBILLED_RATES, formatUsd, chargeOfAttempt, usageProblem } from '@gateway/billing';
import type { ModelPrice, PriceTable, PricedAttempt } from '@gateway/billing';
import { readMessage } from '@gateway/translator/native';
import { findPrice, settledPricingOf } from '../../base/pricing.js';
import type { CostsAtHome } from '../../config/home-tables.js';
import { tableFor } from '../../config/price-schedules.js';
import { keyId, time, unsignedAmountUsd } from '../../endpoints/fields.js';
import { line } from '../../endpoints/storable.js';
import { chargesOf } from '../../ledger/charges-of-response.js';
import { boundOfModel, withinBound } from '../../ledger/usage-bound.js';
import type { OperationContext } from './operation.js';

const count = z.int().min(0);
/** Of a tag or a run, in the ledger. */
const MAX_LABEL = 200;

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
  /** Who spent it, as the log has it; null: nobody but the key. Absent: the key's member. */
  member_id: line.min(1).max(200).nullable().optional(),
  /** The ids of the member's groups at that time, from the top down: `/grp_1/grp_2/`. */
  groups: line
    .max(1_000)
    .regex(/^(?:\/grp_\w+)+\/$/, 'must be a path of groups such as /grp_…/')
    .optional(),
  tag: line.min(1).max(MAX_LABEL).optional(),
  run: line.min(1).max(MAX_LABEL).optional(),
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
  /**
   * The usage object of the messages format from which the counts are, as a client received it. It
   * is priced as that of a response: each of its `iterations` at its model, with fees.
   */
  native_usage: z.looseObject({}).optional(),
  /**
   * The content of the same response: the types of its blocks, and of a `fallback` block its
   * `from` and `trigger`; texts are not read. Needed if a model declined before any output, because
   * its category decides whether its attempt is billed.
   */
  content: z.array(z.looseObject({ type: line.max(60) })).optional(),
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
 * that its account has now. A charge in the ledger stays as it is, so repeating changes nothing. A
 * request whose charge may be archived is refused, because the ledger no longer knows whether it
 * was charged.
 */
export async function recharge(charges: readonly LostCharge[], context: OperationContext) {
  const { store } = context;
  const single = charges.filter(({ native_usage }) => native_usage === undefined);
  const entries = await store.findEntries([...new Set(single.map((lost) => lost.request_id))]);
  const known = new Map(entries.map((entry) => [entry.id, entry]));
  const archived = (await store.listArchives()).at(-1)?.until;
  const refused: RefusedCharge[] = [];
  let [present, booked, charged] = [0, 0, 0n];
  // One after the other, so that a request that is named twice is found the second time.
  for (const lost of charges) {
    const { request_id } = lost;
    const entry = known.get(request_id);
    const outcome =
      entry !== undefined && lost.native_usage === undefined
        ? { problem: differenceFrom(entry, lost.key_id, usageOf(lost)) }
        : await book(lost, archived, context);
    if (outcome.problem !== undefined) {
      refused.push({ request_id, reason: outcome.problem });
      continue;
    }
    const { entries: added = [] } = outcome;
    for (const each of added) {
      known.set(each.id, each);
      charged -= each.delta;
    }
    if (added.length > 0) booked += 1;
    else present += 1;
  }
  return {
    object: 'recharge' as const,
    booked,
    charged_usd: formatUsd(charged),
    already_charged: present,
    refused,
  };
}

/** @returns why it may be archived; `undefined` if it is not */
function archiveProblem(at: Date | undefined, archived: Date): string | undefined {
  const until = archived.toISOString();
  if (at === undefined) {
    return `at: is missing; charges before ${until} are archived, and this may be one of them`;
  }
  return at.getTime() < archived.getTime() + CLOCK_MARGIN_MS
    ? `at: charges before ${until} are archived, and this may be one of them`
    : undefined;
}

/** What was booked, which is nothing if the ledger has all charges; or why nothing was. */
interface Booked {
  readonly entries?: readonly LedgerEntry[];
  readonly problem?: string | undefined;
}

/** Books the charges of a record that are not in the ledger. */
async function book(
  lost: LostCharge,
  archived: Date | undefined,
  context: OperationContext,
): Promise<Booked> {
  const { store, overdraft, by } = context;
  const read = await readRecord(lost, context);
  if ('problem' in read) return read;
  const { charges, spender } = read;
  // A record with `native_usage` may have several charges, of which the ledger may have some.
  const had =
    lost.native_usage === undefined
      ? []
      : await store.findEntries(charges.map(({ requestId }) => requestId));
  for (const entry of had) {
    const charge = charges.find(({ requestId }) => requestId === entry.id);
    const problem = charge && differenceFrom(entry, lost.key_id, charge.usage);
    if (problem !== undefined) return { problem };
  }
  const missing = charges.filter(({ requestId }) => had.every(({ id }) => id !== requestId));
  if (missing.length === 0) return {};
  const problem = archived && archiveProblem(lost.at, archived);
  if (problem !== undefined) return { problem };
  const amount = charges.reduce((sum, charge) => sum + charge.amount, 0n);
  const recorded = lost.charge_usd === undefined ? amount : lost.charge_usd + lost.written_off_usd;
  if (recorded !== amount) {
    return {
      problem:
        `charge_usd: with written_off_usd, the record says ${formatUsd(recorded)}, ` +
        `but the price table of that time gives ${formatUsd(amount)}`,
    };
  }
  const when = lost.at === undefined ? '' : `, request of ${lost.at.toISOString()}`;
  const settlements = missing.map(({ remarks, ...charge }) => ({
    ...charge,
    keyId: lost.key_id,
    spender,
    overdraft,
    endpoint: lost.endpoint,
    streamed: lost.streamed,
    upstreamId: undefined,
    upstreamAccount: lost.upstream_account,
    remarks: [remarks, `charged from a record by ${by.name}${when}`]
      .filter((text) => text !== undefined)
      .join('; '),
  }));
  const outcomes = await store.settleTogether(settlements, { deadlineMs: SETTLE_DEADLINE_MS });
  const entries = await store.findEntries(settlements.map(({ requestId }) => requestId));
  const added: LedgerEntry[] = [];
  for (const [index, { requestId }] of settlements.entries()) {
    const outcome = outcomes[index]?.outcome;
    const entry = entries.find(({ id }) => id === requestId);
    if (entry === undefined || outcome === 'conflict') {
      return { problem: `the ledger did not book the charge ${requestId}: ${String(outcome)}` };
    }
    // Another call may have booked it meanwhile.
    if (outcome !== 'replayed') added.push(entry);
  }
  return { entries: added };
}

/** @returns the charges of a record; the first is that of the message */
async function readRecord(
  lost: LostCharge,
  { store, prices, costsAt, costsAtHome }: OperationContext,
): Promise<
  | { readonly charges: readonly RecordedCharge[]; readonly spender: Spender }
  | { readonly problem: string }
> {
  const usage = usageOf(lost);
  const problem = usageProblem(usage);
  if (problem !== undefined) return { problem };
  const key = await store.getKey(lost.key_id);
  if (key === undefined) {
    return {
      problem: 'key_id: the ledger has no such key; it may have been created after the backup',
    };
  }
  const spender = await spenderOfRecord(lost, key, { store });
  if ('problem' in spender) return spender;
  const reading = prices.of(key.prices);
  if ('problem' in reading) return { problem: `key_id: ${reading.problem}` };
  const at = lost.at?.getTime() ?? Date.now();
  const table = tableFor(reading, { account: lost.upstream_account, atMs: at });
  const price = findPrice(table, lost.model);
  if (price === undefined) return { problem: 'model: is not in the price table' };
  const atHome = costsAtHome?.(lost.upstream_account, at);
  const costs = atHome?.costs ?? costsAt(at);
  const charges = chargesOfRecord(lost, usage, { price, table, costs, atHome });
  return 'problem' in charges ? charges : { charges, spender };
}

/** A record that does not say who spent is one of usage: the key's member has it now. */
async function spenderOfRecord(
  { member_id: named, groups, tag, run }: LostCharge,
  key: KeyRecord,
  { store }: Pick<OperationContext, 'store'>,
): Promise<Spender | { readonly problem: string }> {
  if (named === undefined) {
    return { memberId: key.memberId ?? undefined, groups: groups ?? key.groups, tag, run };
  }
  if (named === null) return { groups, tag, run };
  const member = await store.getMember(named);
  if (member?.accountId !== key.accountId) {
    return { problem: 'member_id: is not a member of the account of the key' };
  }
  return { memberId: named, groups, tag, run };
}

type RecordedCharge = Pick<
  Settlement,
  'requestId' | 'model' | 'usage' | 'amount' | 'rates' | 'pricing' | 'cost' | 'remarks'
>;

interface RecordPrices {
  readonly price: ModelPrice;
  readonly table: PriceTable;
  readonly costs: PriceTable | undefined;
  readonly atHome: CostsAtHome | undefined;
}

function chargesOfRecord(
  lost: LostCharge,
  usage: SettledUsage,
  prices: RecordPrices,
): readonly RecordedCharge[] | { readonly problem: string } {
  if (lost.native_usage !== undefined && !lost.is_unbilled) {
    return chargesOfUsage(lost, lost.native_usage, prices);
  }
  const charge = {
    ...pricedRecord(lost, usage, prices),
    requestId: lost.request_id,
    model: prices.price.id,
    usage,
    cost: lost.cost_usd ?? costOfRecord(lost, usage, prices),
  };
  return [charge];
}

const COUNTS = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const;

/** As a live response with this usage is charged. */
function chargesOfUsage(
  lost: LostCharge,
  native: Readonly<Record<string, unknown>>,
  { price, table, costs, atHome }: RecordPrices,
): readonly RecordedCharge[] | { readonly problem: string } {
  if (lost.pricing !== undefined || lost.cost_usd !== undefined) {
    return {
      problem: 'native_usage: cannot be given with pricing or cost_usd, which follow from it',
    };
  }
  const other = COUNTS.find((name) => (native[name] ?? 0) !== lost[name]);
  if (other !== undefined) return { problem: `native_usage: has another number of ${other}` };
  const { usage } = readMessage({ content: lost.content ?? [], usage: native });
  const reading = withinBound(usage, boundOfModel(price), table.fees);
  if (reading.outcome === 'invalid') return { problem: `native_usage: ${reading.reason}` };
  const attempts = [...(reading.uncounted ?? []), ...(reading.byModel ?? [])];
  if (lost.content === undefined && attempts.some(({ declined }) => declined)) {
    return { problem: 'content: is needed, because a model declined before any output' };
  }
  const { settlements, unpriced } = chargesOf(
    reading,
    { usage: reading, messageId: undefined, model: undefined, streamed: lost.streamed },
    {
      requestId: lost.request_id,
      keyId: lost.key_id,
      // It is added to all charges of the record.
      spender: undefined,
      price,
      prices: table,
      // A model without a price is refused below, never charged at the price of another.
      isModelOpen: true,
      unknownMembers: [],
      call: { account: lost.upstream_account },
      format: { dialect: lost.endpoint },
    },
    { overdraft: 'bounded', costs, atHome },
  );
  const [problem] = unpriced;
  return problem === undefined ? settlements : { problem: `native_usage: ${problem.reason}` };
}

/** @returns how the key or the counts differ; `undefined` if they do not */
function differenceFrom(
  entry: LedgerEntry,
  keyId: string,
  usage: SettledUsage,
): string | undefined {
  if (entry.kind !== 'charge') return 'request_id: belongs to an entry that is not a charge';
  if (entry.keyId !== keyId) return 'key_id: the ledger has this charge under another key';
  const [had, given] = [countsText(entry.usage), countsText(usage)];
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
  { costs: table, atHome }: Pick<RecordPrices, 'costs' | 'atHome'>,
): bigint | undefined {
  const price = table && findPrice(table, lost.model);
  if (table === undefined || price === undefined || lost.is_unbilled) return undefined;
  const recorded = attemptOf(lost, usage);
  const geography = recorded.circumstances.inferenceGeo ?? atHome?.placeOf(price.id);
  const circumstances = { ...recorded.circumstances, inferenceGeo: geography };
  const attempt = { ...recorded, circumstances };
  // Without a band in the record, the table of prices may have none where that of costs has some.
  const isBandKnown = lost.pricing?.terms.above_prompt_tokens !== undefined;
  const of = isBandKnown ? attempt : { ...attempt, promptTokens: undefined };
  return chargeOfAttempt(of, price, table.fees).total;
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
