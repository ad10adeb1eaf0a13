/** Reads all pages of a report of the provider's Admin API. */

import { request } from 'undici';
import { z } from 'zod';
import { reasonOf } from '../../base/error-code.js';
import { MINUTE_MS } from '../../base/times.js';
import { openProxyAgent } from '../client.js';
import type { ProxyVariables } from '../client.js';
import { ProviderReportError } from './reports.js';
import type { ReportRange } from './reports.js';

export interface ReportedDay<Result> {
  /** `2026-11-01`, in UTC. */
  readonly day: string;
  readonly results: readonly Result[];
}

export type ReadReport = <Result extends z.ZodType>(
  report: { readonly name: string; readonly path: string; readonly groupBy: string },
  result: Result,
  range: ReportRange,
) => Promise<readonly ReportedDay<z.output<Result>>[]>;

/** The provider's limit for buckets of one day. */
const DAYS_PER_PAGE = 31;
/**
 * More pages than any range has. The limit ends a report whose pages have no days and refer to each
 * other in a circle. (A repeated day ends a report at once.)
 */
const MAX_PAGES = 100;
const TIMEOUT_MS = MINUTE_MS;

const day = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT00:00:00(\.0+)?Z$/, 'must be 00:00 UTC of a day')
  .transform((text) => text.slice(0, 10));

export function createReportReader(
  admin: { readonly url: string; readonly key: string },
  proxies: ProxyVariables,
): ReadReport {
  return async ({ name, path, groupBy }, result, range) => {
    const page = z.object({
      data: z.array(z.object({ starting_at: day, results: z.array(result) })),
      has_more: z.boolean(),
      next_page: z.string().min(1).nullish(),
    });
    const days: ReportedDay<z.output<typeof result>>[] = [];
    const seen = new Set<string>();
    let next: string | undefined;
    for (let number = 1; number <= MAX_PAGES; number += 1) {
      const wrong = (field: string, problem: string) =>
        new ProviderReportError(
          `${name}, page ${String(number)}: ${field === '' ? '' : `${field}: `}${problem}`,
        );
      const url = new URL(path, admin.url);
      url.searchParams.set('starting_at', range.from.toISOString());
      url.searchParams.set('ending_at', range.until.toISOString());
      url.searchParams.set('bucket_width', '1d');
      url.searchParams.append('group_by[]', groupBy);
      url.searchParams.set('limit', String(DAYS_PER_PAGE));
      if (next !== undefined) url.searchParams.set('page', next);
      const parsed = page.safeParse(await readJson(url, admin.key, proxies));
      if (!parsed.success) {
        const [issue] = parsed.error.issues;
        throw wrong(issue?.path.join('.') ?? '', issue?.message ?? 'has the wrong form');
      }
      for (const [index, bucket] of parsed.data.data.entries()) {
        const field = `data.${String(index)}.starting_at`;
        const start = new Date(bucket.starting_at);
        if (start < range.from || start >= range.until) throw wrong(field, 'was not asked for');
        // The results of a day are added up. If a day were counted twice, its sum could hide a
        // difference from the ledger.
        if (seen.has(bucket.starting_at)) throw wrong(field, 'was in the report before');
        seen.add(bucket.starting_at);
        days.push({ day: bucket.starting_at, results: bucket.results });
      }
      if (!parsed.data.has_more) return days;
      next = parsed.data.next_page ?? undefined;
      if (next === undefined) throw wrong('next_page', 'is missing although has_more is true');
    }
    throw new ProviderReportError(`${name}: has more than ${String(MAX_PAGES)} pages`);
  };
}

/** @returns `undefined` for a body that is not JSON */
async function readJson(url: URL, key: string, proxies: ProxyVariables): Promise<unknown> {
  const dispatcher = openProxyAgent(proxies, {});
  try {
    const { statusCode, body } = await request(url, {
      headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      ...(dispatcher === undefined ? {} : { dispatcher }),
    }).catch((error: unknown) => {
      const reason = reasonOf(error);
      throw new ProviderReportError(`the provider cannot be reached: ${reason}`);
    });
    if (statusCode === 200) return await body.json().catch(() => undefined);
    await body.dump();
    throw refusalOf(statusCode);
  } finally {
    await dispatcher?.close();
  }
}

function refusalOf(status: number): ProviderReportError {
  if (status === 401 || status === 403) {
    return new ProviderReportError(
      `ANTHROPIC_ADMIN_KEY or admin_key: the provider refused it with ${String(status)}`,
    );
  }
  return new ProviderReportError(
    `the provider answered a request for a report with ${String(status)}`,
  );
}
