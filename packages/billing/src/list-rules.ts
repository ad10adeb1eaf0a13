/**
 * The rules of the provider's list: what each says, where in a price table it stands, on which page
 * it was read and when. `list-price-table.ts` takes its values from here, and a test refuses a
 * price of that table without a rule, so a rule cannot be copied without its page.
 */

import type { PriceScheduleJson } from './price-schemas.js';
import { BILLED_REFUSALS } from './unbilled.js';

type Model = PriceScheduleJson['models'][number];
/** A member of a price table, or of one of its models. */
export type PriceMember = keyof Model | keyof Omit<PriceScheduleJson, 'models'>;

export interface ListRule {
  /** The members of a table that follow from this rule. */
  readonly members: readonly PriceMember[];
  readonly says: string;
  readonly page: string;
  /** The part of the page, where it is long. */
  readonly part?: string;
  /** The day from which the provider applies it, where its page or its release notes name one. */
  readonly since?: string;
  /** The day on which the page was last compared with this table. */
  readonly read: string;
}

const DOCS = 'https://platform.claude.com/docs/en';
const PRICING = `${DOCS}/about-claude/pricing`;
const READ = '2026-11-28';

/** The rules that are not about one model. */
export const LIST_RULES: readonly ListRule[] = [
  {
    members: ['cache_write', 'cache_write_1h'],
    says: 'writes to the cache cost 1.25 of the input rate for five minutes, 2 for an hour',
    page: PRICING,
    part: 'Prompt caching',
    read: READ,
  },
  {
    members: ['cache_read'],
    says: 'reads from the cache cost 0.1 of the input rate, unless the row of a model says less',
    page: PRICING,
    part: 'Prompt caching',
    read: READ,
  },
  {
    members: ['service_tier'],
    says: 'batches cost half',
    page: PRICING,
    part: 'Batch processing',
    read: READ,
  },
  {
    members: ['inference_geo'],
    says: 'inference in the US costs 1.1 times, on models from generation 4.6 on',
    page: PRICING,
    part: 'Data residency pricing',
    read: READ,
  },
  {
    members: ['speed'],
    says: 'fast mode costs twice the rates of the model, on the models whose rows name it',
    page: PRICING,
    part: 'Fast mode pricing',
    read: READ,
  },
  {
    members: ['server_tool_use'],
    says: 'a search costs 0.01; fetches cost only their tokens',
    page: PRICING,
    part: 'Tool use pricing',
    read: READ,
  },
  {
    members: ['billed_refusals'],
    says: `a refusal before any output, also one after which another model goes on, is billed in the categories ${BILLED_REFUSALS.join(', ')}, and free in any other and without one`,
    page: `${DOCS}/build-with-claude/refusals-and-fallback`,
    part: 'How refusals are billed',
    since: '2026-09-24',
    read: READ,
  },
  {
    members: ['fallbacks'],
    says: 'each attempt of a request with fallbacks is billed at the rates of its model',
    page: `${DOCS}/build-with-claude/refusals-and-fallback`,
    part: 'How refusals are billed',
    read: READ,
  },
];

/** A row of the page's table of models. `says` begins with its rates for input and output. */
export function rowOf(says: string, since?: string): ListRule {
  return {
    members: ['rate_in', 'rate_out', 'cache_read', 'bands', 'speed'],
    says,
    page: PRICING,
    part: 'Model pricing',
    ...(since === undefined ? {} : { since }),
    read: READ,
  };
}

/** As the `source` of a model. */
export function sourceOf({ says, page, since, read }: ListRule): string {
  const days = since === undefined ? `read ${read}` : `since ${since}, read ${read}`;
  return `${page}: ${says} (${days})`;
}
