/** Reads the file that `UPSTREAMS` names: several accounts of the same API. */

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigError, problemOf } from './config.js';
import type { Config } from './config.js';
import { homeFields, homeProblems } from './home-fields.js';
import { placeFields, readRoute, routeField, routeProblems } from './route-fields.js';
import type { AccountsTarget, UpstreamTarget } from './upstream-target.js';
import { API_KEY_FORM, API_KEY_PROBLEM } from './upstream-target.js';
import { ADMIN_KEY_FORM, ADMIN_KEY_PROBLEM } from './variables.js';

const DEFAULT_URL = 'https://api.anthropic.com';
const CREDENTIALS = ['api_key', 'api_key_file', 'credential'] as const;
const perMinute = z.number().int().min(1).max(1_000_000_000).optional();

const account = z
  .strictObject({
    /** A label of metrics and log lines. */
    name: z
      .string()
      .regex(
        /^[a-z0-9][a-z0-9_-]{0,39}$/,
        'must be 1 to 40 of a-z 0-9 _ -, not beginning with _ or -',
      ),
    url: z.url({ protocol: /^https?$/, error: 'must be an http(s):// URL' }).default(DEFAULT_URL),
    api_key: z.string().trim().regex(API_KEY_FORM, API_KEY_PROBLEM).optional(),
    api_key_file: z.string().min(1).optional(),
    /** Reads the reports of the organization that pays for this account. */
    admin_key: z.string().trim().regex(ADMIN_KEY_FORM, ADMIN_KEY_PROBLEM).optional(),
    admin_key_file: z.string().min(1).optional(),
    requests_per_minute: perMinute,
    tokens_per_minute: perMinute,
    /** `move`: what may have been accepted is sent to another account too. Both may bill it. */
    unclear_failures: z.enum(['stay', 'move']).optional(),
    /** Customers whose requests go only to accounts that list them. Nobody else's go to these. */
    only_for: z
      .array(z.string().regex(/^acct_[\w-]{1,64}$/, 'must be the id of an account, acct_…'))
      .min(1)
      .max(10_000)
      .optional(),
    ...homeFields,
    ...placeFields,
  })
  .check(homeProblems)
  .refine((each) => CREDENTIALS.filter((name) => each[name] !== undefined).length === 1, {
    error: `must have exactly one of ${CREDENTIALS.join(', ')}`,
  })
  .refine((each) => each.admin_key === undefined || each.admin_key_file === undefined, {
    error: 'must have at most one of admin_key and admin_key_file',
  });
const upstreams = z
  .strictObject({
    accounts: z.array(account).min(1).max(64),
    routes: z.array(routeField).min(1).max(10_000).optional(),
  })
  .refine(({ accounts }) => new Set(accounts.map(({ name }) => name)).size === accounts.length, {
    error: 'accounts: each name must be used once',
  })
  .refine(({ accounts }) => accounts.some((each) => each.only_for === undefined), {
    error: 'accounts: one must have no only_for, for the customers that none lists',
  })
  .check(({ value, issues }) => {
    for (const { path, message } of routeProblems(value.routes ?? [], value.accounts)) {
      issues.push({ code: 'custom', path: ['routes', ...path], message, input: path });
    }
  });

/**
 * @returns the upstream that a configuration names; `undefined`: the bundled simulator answers
 * @throws {ConfigError} as {@link readUpstreams}
 */
export function upstreamTarget(
  config: Pick<Config, 'upstream' | 'upstreamsPath'>,
): UpstreamTarget | undefined {
  return config.upstreamsPath === undefined ? config.upstream : readUpstreams(config.upstreamsPath);
}

/** @throws {ConfigError} One line per problem. Secrets are never repeated. */
export function readUpstreams(path: string): AccountsTarget {
  const parsed = upstreams.safeParse(readJson(path));
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map((issue) => {
        const field = issue.path.join('.');
        return `UPSTREAMS: ${field === '' ? '' : `${field}: `}${problemOf(issue)}`;
      }),
    );
  }
  const { accounts: given, routes } = parsed.data;
  const accounts = given.map((each, index) => ({
    name: each.name,
    url: each.url,
    apiKey: each.api_key ?? readKey(each.api_key_file, `${String(index)}.api_key_file`),
    apiKeyFile: each.api_key_file,
    api: each.api,
    credential: each.credential,
    auth: each.auth,
    headers: each.headers,
    models: each.models,
    version: each.version,
    versionIn: each.version_in,
    lacks: each.lacks,
    adminKey: each.admin_key ?? readAdminKey(each.admin_key_file, index),
    requestsPerMinute: each.requests_per_minute,
    tokensPerMinute: each.tokens_per_minute,
    onlyFor: each.only_for,
    unclearFailures: each.unclear_failures,
    place: each.place,
    labels: each.labels,
    costs: each.costs,
    prices: each.prices,
  }));
  return { accounts, routes: routes?.map((route) => readRoute(route, given)) };
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    // The message of a syntax error quotes the text, which contains secrets.
    const reason = error instanceof SyntaxError ? 'is not JSON' : String(error);
    throw new ConfigError([`UPSTREAMS: ${reason}`]);
  }
}

function readAdminKey(path: string | undefined, index: number): string | undefined {
  if (path === undefined) return undefined;
  const field = `${String(index)}.admin_key_file`;
  const key = readSecret(path, field);
  if (ADMIN_KEY_FORM.test(key)) return key;
  throw new ConfigError([`UPSTREAMS: accounts.${field}: ${ADMIN_KEY_PROBLEM}`]);
}

/** @param member - Such as `0.api_key_file`. */
function readKey(path: string | undefined, member: string): string | undefined {
  if (path === undefined) return undefined;
  const key = readSecret(path, member);
  if (API_KEY_FORM.test(key)) return key;
  throw new ConfigError([`UPSTREAMS: accounts.${member}: ${API_KEY_PROBLEM}`]);
}

/** @param member - Such as `0.api_key_file`. */
function readSecret(path: string, member: string): string {
  const field = `UPSTREAMS: accounts.${member}`;
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new ConfigError([`${field}: ${String(error)}`]);
  }
  if (text === '') throw new ConfigError([`${field}: is empty`]);
  return text;
}
