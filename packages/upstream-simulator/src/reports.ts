/**
 * The usage report and the cost report of the Admin API, made from the journal.
 *
 * https://platform.claude.com/docs/manage-claude/usage-cost-api
 */

import type { IncomingMessage } from 'node:http';
import { TOKEN_TYPES } from './message/billed-usage.js';
import type { BilledUsage, TokenType } from './message/billed-usage.js';
import type { JsonObject } from './message/message.js';
import { sendError, sendJson, sendParts } from './message/responses.js';
import type { Answering } from './message/responses.js';
import type { ErrorType } from './message/script.js';
import { JSON_HEADERS } from './message/wire.js';

/** The reply to one request for a report. Without members, the reply is the report itself. */
export interface ScriptedReport {
  readonly error?: { readonly type: ErrorType; readonly message?: string };
  /** The exact body of a 200. */
  readonly body?: string;
  /** Changes a page before it is sent. */
  readonly alter?: (page: JsonObject) => JsonObject;
}

export interface ReportOptions {
  /** The expected key of the Admin API. Default: any that begins with `sk-ant-admin`. */
  readonly adminKey?: string;
  /** The price of a token in units of 10^-14 USD. Default: 0. */
  readonly unitsPerToken?: (model: string, type: TokenType) => bigint;
}

const USAGE_PATH = '/v1/organizations/usage_report/messages';
const COST_PATH = '/v1/organizations/cost_report';

export function isReport(pathname: string): boolean {
  return pathname === USAGE_PATH || pathname === COST_PATH;
}

/** Answers a request for a report: with the report, or as the script says. */
export async function serveReport(
  to: Answering & { readonly req: IncomingMessage },
  billed: readonly BilledUsage[],
  { options, script = {} }: { options: ReportOptions; script: ScriptedReport | undefined },
): Promise<void> {
  const refuse = (type: ErrorType, message: string): void => {
    sendError(to, { type, message });
  };
  if (script.error !== undefined) {
    refuse(script.error.type, script.error.message ?? 'Scripted error');
    return;
  }
  if (!isAdmin(to.req, options.adminKey)) {
    refuse('authentication_error', 'invalid x-api-key');
    return;
  }
  if (script.body !== undefined) {
    await sendParts(to, { headers: JSON_HEADERS }, [script.body], {});
    return;
  }
  const { pathname, searchParams } = new URL(to.req.url ?? '', 'http://simulator');
  const days = daysOf(searchParams);
  if (typeof days === 'string') {
    refuse('invalid_request_error', days);
    return;
  }
  const groups = searchParams.getAll('group_by[]');
  const resultsOf = (usages: readonly BilledUsage[]): JsonObject[] =>
    pathname === USAGE_PATH
      ? usageResults(usages, groups.includes('model'))
      : costResults(usages, groups.includes('description'), options.unitsPerToken ?? (() => 0n));
  const page = {
    data: days.shown.map((day) => ({
      starting_at: timeOf(day),
      ending_at: timeOf(day + DAY_MS),
      results: resultsOf(billed.filter(({ atMs }) => atMs >= day && atMs < day + DAY_MS)),
    })),
    has_more: days.next !== undefined,
    next_page: days.next === undefined ? null : pageOf(days.next),
  };
  sendJson(to, 200, script.alter?.(page) ?? page);
}

function isAdmin({ headers }: IncomingMessage, adminKey: string | undefined): boolean {
  const given = String(headers['x-api-key'] ?? '');
  return adminKey === undefined ? given.startsWith('sk-ant-admin') : given === adminKey;
}

const DAY_MS = 86_400_000;
const DEFAULT_BUCKETS = 7;
const MAX_BUCKETS = 31;
const PAGE = /^page_([\w-]+)$/;

interface Days {
  /** The starts of the days on this page, in milliseconds since the epoch. */
  readonly shown: readonly number[];
  /** The start of the next page. */
  readonly next: number | undefined;
}

/** @returns a text that says what is wrong with the query, if anything */
function daysOf(query: URLSearchParams): Days | string {
  const from = Date.parse(query.get('starting_at') ?? '');
  const until = Date.parse(query.get('ending_at') ?? '');
  const limit = Number(query.get('limit') ?? DEFAULT_BUCKETS);
  if (Number.isNaN(from)) return 'starting_at: Field required';
  if (Number.isNaN(until) || until <= from) return 'ending_at: must be after starting_at';
  if (query.get('bucket_width') !== '1d') return 'bucket_width: only 1d is simulated';
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_BUCKETS) {
    return `limit: must be from 1 to ${String(MAX_BUCKETS)}`;
  }
  const page = query.get('page');
  const encoded = PAGE.exec(page ?? '')?.[1];
  if (page !== null && encoded === undefined) return 'page: is not a page';
  const start =
    encoded === undefined ? from : Date.parse(Buffer.from(encoded, 'base64url').toString());
  const first = Math.floor(start / DAY_MS) * DAY_MS;
  const all = Math.ceil((until - first) / DAY_MS);
  const shown = Array.from({ length: Math.min(all, limit) }, (_, index) => first + index * DAY_MS);
  return { shown, next: all > limit ? first + limit * DAY_MS : undefined };
}

function pageOf(day: number): string {
  return `page_${Buffer.from(timeOf(day)).toString('base64url')}`;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

function byModel(usages: readonly BilledUsage[]): Map<string, readonly BilledUsage[]> {
  const models = [...new Set(usages.map(({ model }) => model))].sort();
  return new Map(models.map((model) => [model, usages.filter((usage) => usage.model === model)]));
}

function sum(usages: readonly BilledUsage[], type: TokenType): number {
  return usages.reduce((total, { tokens }) => total + tokens[type], 0);
}

function usageResults(usages: readonly BilledUsage[], isByModel: boolean): JsonObject[] {
  const groups: Iterable<readonly [string | null, readonly BilledUsage[]]> = isByModel
    ? byModel(usages)
    : [[null, usages]];
  return [...groups].map(([model, group]) => ({
    uncached_input_tokens: sum(group, 'uncached_input_tokens'),
    cache_creation: {
      ephemeral_1h_input_tokens: sum(group, 'cache_creation.ephemeral_1h_input_tokens'),
      ephemeral_5m_input_tokens: sum(group, 'cache_creation.ephemeral_5m_input_tokens'),
    },
    cache_read_input_tokens: sum(group, 'cache_read_input_tokens'),
    output_tokens: sum(group, 'output_tokens'),
    server_tool_use: { web_search_requests: 0 },
    api_key_id: null,
    workspace_id: null,
    model,
    service_tier: null,
    context_window: null,
  }));
}

function costResults(
  usages: readonly BilledUsage[],
  isByDescription: boolean,
  unitsPerToken: (model: string, type: TokenType) => bigint,
): JsonObject[] {
  const lines = [...byModel(usages)].flatMap(([model, group]) =>
    TOKEN_TYPES.map((type) => ({
      model,
      type,
      units: BigInt(sum(group, type)) * unitsPerToken(model, type),
    })),
  );
  const common = { currency: 'USD', workspace_id: null };
  if (!isByDescription) {
    const units = lines.reduce((total, line) => total + line.units, 0n);
    const none = { cost_type: null, description: null, model: null, token_type: null };
    const unknown = { service_tier: null, context_window: null };
    return [{ ...common, ...none, ...unknown, amount: centsOf(units) }];
  }
  return lines
    .filter(({ units }) => units > 0n)
    .map(({ model, type, units }) => ({
      ...common,
      amount: centsOf(units),
      cost_type: 'tokens',
      description: `${model} Usage - ${type}`,
      model,
      service_tier: 'standard',
      token_type: type,
      context_window: '0-200k',
    }));
}

const UNITS_PER_CENT = 10n ** 12n;

/** Exact, as a decimal. */
function centsOf(units: bigint): string {
  const fraction = (units % UNITS_PER_CENT).toString().padStart(12, '0').replace(/0+$/, '');
  const whole = String(units / UNITS_PER_CENT);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}
