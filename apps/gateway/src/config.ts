/**
 * The gateway's configuration: environment variables and the file that `ENV_FILE` names. Every
 * problem is reported with the name of its variable; nothing is clamped or guessed.
 */

import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { parseUsd } from '@gateway/billing';
import type { Policy } from '@gateway/rate-limiter';
import { TOKEN_RIGHTS } from './admin-tokens.js';
import type { AdminToken } from './admin-tokens.js';
import {
  BODIES_AT_ONCE,
  defaultBodyMemory,
  defaultResponseMemory,
  leastBodyMemory,
  memoryLimit,
} from './body-memory.js';
import { reasonOf } from './error-code.js';
import { centsFromUnits } from './payments/cents.js';
import type { ResponseMemoryLimits } from './response-memory/response-memory.js';
import { tracingConfigOf, tracingVariables } from './tracing/tracing-config.js';
import type { TracingConfig } from './tracing/tracing-config.js';

const port = z.coerce.number().int().min(0).max(65_535);
/** Stripe's limit for one payment in USD. */
const MAX_CENTS = 99_999_999;
const positive = z.coerce.number().int().min(1);
const text = z.string().trim().min(1);

/** An account's limits are by default those of this many keys. */
const KEYS_PER_ACCOUNT = 5;

const PROVIDER_URL = 'https://api.anthropic.com';

const PRICED_FEATURES = [
  'web_search',
  'code_execution',
  'fast_mode',
  'inference_geo',
  'fallbacks',
  'mcp',
  'advisor',
  'compaction',
  'unknown_tools',
] as const;

const list = z
  .string()
  .default('')
  .transform((items) =>
    items
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  );

const pepper = text.min(16, 'must have at least 16 characters');

/** A secret that is sent in a header, after a space. */
const headerToken = text
  .min(16, 'must have at least 16 characters')
  .regex(/^[\x21-\x7e]*$/, 'must be printable ASCII without spaces');

const ADMIN_TOKEN_FORM = /^([\w.-]{1,50}):(all|credit|read):(.+)$/;

/** `shop:credit:<token>`: a name for the trail, the token's right, and the token itself. */
const adminToken = z.string().transform((item, context): AdminToken => {
  const [, name, right, token] = ADMIN_TOKEN_FORM.exec(item) ?? [];
  const isRight = TOKEN_RIGHTS.find((known) => known === right);
  if (name === undefined || isRight === undefined || !headerToken.safeParse(token).success) {
    context.addIssue(
      'must be items such as shop:credit:<token>: a name, then all, credit or read, then a token of at least 16 characters',
    );
    return z.NEVER;
  }
  return { name, right: isRight, token: token ?? '' };
});

/** A name, and after it an address of mail or of the web, which the customer's page links to. */
const OPERATOR_FORM = /^([^<>]{1,200}?)(?: <(https?:\/\/[^\s<>]+|[^\s<>@:]+@[^\s<>@:]+)>)?$/;

const operator = text.transform((given, context) => {
  const [, name, contact = null] = OPERATOR_FORM.exec(given) ?? [];
  if (name !== undefined) return { name, contact };
  context.addIssue('must be a name, and may have a contact: Example Ltd <help@example.com>');
  return z.NEVER;
});

const usd = z.string().transform((amount, context) => {
  try {
    const parsed = parseUsd(amount);
    if (parsed > 0n) return parsed;
  } catch {
    // The text below also reports an amount that is not above 0.
  }
  context.addIssue('must be an amount in USD above 0, such as 5 or 0.5');
  return z.NEVER;
});

/** An amount of whole cents, as a number of cents. The smallest amount is Stripe's minimum. */
const wholeCents = usd.transform((amount, context) => {
  const cents = centsFromUnits(amount);
  if (cents !== undefined && cents >= 50 && cents <= MAX_CENTS) return cents;
  context.addIssue('must be an amount in USD from 0.5 to 999999.99, in whole cents');
  return z.NEVER;
});
const proxyUrl = z.url({ protocol: /^https?$/, error: 'must be an http(s):// URL' });

/** Secrets as the Standard Webhooks specification defines them: 24 to 64 random bytes. */
const webhookSecret = z
  .string()
  .regex(
    /^whsec_[A-Za-z0-9+/]+={0,2}$/,
    'must be whsec_ followed by base64, or several separated by spaces',
  )
  .refine((secret) => {
    const encoded = secret.slice('whsec_'.length);
    const bytes = Buffer.from(encoded, 'base64');
    return bytes.toString('base64') === encoded && bytes.length >= 24 && bytes.length <= 64;
  }, 'must have 24 to 64 bytes after whsec_, in base64');

/** A key of the provider's Admin API. */
export const ADMIN_KEY_FORM = /^sk-ant-admin[\x21-\x7e]+$/;
export const ADMIN_KEY_PROBLEM = 'must be sk-ant-admin…';

const environment = z.object({
  HOST: text.default('127.0.0.1'),
  PORT: port.default(8080),
  // HOST does not apply here: a gateway that clients can reach must not let them reach its admin
  // API.
  ADMIN_HOST: text.default('127.0.0.1'),
  ADMIN_PORT: port.default(8081),
  ADMIN_TOKEN: headerToken.optional(),
  ADMIN_TOKENS: list.pipe(z.array(adminToken)),
  ADMIN_TOKEN_PREVIOUS: headerToken.optional(),
  ADMIN_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })
    .optional(),
  METRICS_TOKEN: headerToken.optional(),
  DATA_DIR: text.default('./.data'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' })
    .optional(),
  REDIS_URL: list.pipe(
    z.array(z.url({ protocol: /^rediss?$/, error: 'must be redis:// URLs separated by commas' })),
  ),
  REDIS_TIMEOUT_MS: positive.max(5_000).default(100),
  REPLICAS: positive.max(10_000).default(1),
  WORKERS: z
    .union([z.literal('auto').transform(() => availableParallelism()), positive.max(1_024)], {
      error: 'must be auto or an integer of at least 1',
    })
    .default(1),
  UPSTREAM_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s):// URL' }).optional(),
  UPSTREAM_API_KEY: text.optional(),
  UPSTREAMS: text.optional(),
  ANTHROPIC_ADMIN_KEY: text.regex(ADMIN_KEY_FORM, ADMIN_KEY_PROBLEM).optional(),
  ANTHROPIC_ADMIN_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http(s):// URL' })
    .default(PROVIDER_URL),
  HTTPS_PROXY: proxyUrl.optional(),
  HTTP_PROXY: proxyUrl.optional(),
  NO_PROXY: text.optional(),
  PRICE_TABLE: text.optional(),
  KEY_PEPPER: pepper.optional(),
  KEY_PEPPER_PREVIOUS: pepper.optional(),
  WEBHOOK_URL: z.url({ protocol: /^https?$/, error: 'must be an https:// URL' }).optional(),
  WEBHOOK_SECRET: text
    .transform((secrets) => secrets.split(/\s+/))
    .pipe(z.array(webhookSecret).max(10, 'must be at most 10 secrets'))
    .optional(),
  WEBHOOK_ALLOW_PRIVATE: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .default('false')
    .transform((value) => value === 'true'),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http(s):// URL' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  STRIPE_SECRET_KEY: text
    .regex(/^(sk|rk)_(test|live)_\w+$/, 'must be sk_test_…, sk_live_…, rk_test_… or rk_live_…')
    .optional(),
  STRIPE_WEBHOOK_SECRET: text
    .transform((secrets) => secrets.split(/\s+/))
    .pipe(
      z
        .array(
          z.string().regex(/^whsec_\S{8,}$/, 'must be whsec_…, or several separated by spaces'),
        )
        .max(10, 'must be at most 10 secrets'),
    )
    .optional(),
  STRIPE_API_URL: z
    .string()
    .regex(/^https?:\/\/[^/?#\s]+\/?$/, 'must be an http(s):// URL without a path')
    .optional(),
  STRIPE_AUTOMATIC_TAX: z.enum(['on', 'off'], { error: 'must be on or off' }).default('off'),
  TOP_UP_MIN_USD: wholeCents.default(500),
  TOP_UP_MAX_USD: wholeCents.default(100_000),
  TRUST_PROXY: z.coerce.number().int().min(0).max(32).default(0),
  MAX_BODY_BYTES: positive.max(1024 * 1024 * 1024).default(32 * 1024 * 1024),
  BODY_MEMORY_BYTES: positive.optional(),
  RESPONSE_MEMORY_MINUTES: z.coerce.number().int().min(0).max(1_440).default(30),
  RESPONSE_MEMORY_BYTES: positive.max(64 * 1024 ** 3).optional(),
  CORS_ORIGINS: list.pipe(
    z.array(
      z
        .string()
        .regex(
          /^(\*|https?:\/\/[^/?#\s]+)$/,
          'must be origins such as https://app.example.com, or *',
        ),
    ),
  ),
  PAGES_DIR: text.optional(),
  TOP_UP_URL: z
    .url({ protocol: /^https?$/, error: 'must be an address such as https://shop.example.com' })
    .optional(),
  OPERATOR: operator.optional(),
  OVERDRAFT: z.enum(['bounded', 'none']).default('bounded'),
  DRAIN_DELAY_S: z.coerce.number().int().min(0).max(600).default(0),
  REQUEST_HEAD_S: positive.max(600).default(10),
  UPLOAD_STALL_S: positive.max(3_600).default(60),
  UPLOAD_MAX_S: positive.max(86_400).default(600),
  KEEP_ALIVE_S: positive.max(3_600).default(75),
  // No stream may be silent for longer than 15 s: see docs/decisions/0053.
  STREAM_SILENCE_S: positive.max(15).default(10),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  KEY_CONCURRENCY: positive.max(100_000).default(20),
  KEY_BURST: positive.max(1_000_000).default(60),
  KEY_REQUESTS_PER_MINUTE: positive.max(10_000_000).default(600),
  ACCOUNT_CONCURRENCY: positive.max(1_000_000).optional(),
  ACCOUNT_BURST: positive.max(10_000_000).optional(),
  ACCOUNT_REQUESTS_PER_MINUTE: positive.max(100_000_000).optional(),
  LOW_BALANCE_USD: usd.optional(),
  CHAT_JSON_SCHEMA: z.enum(['ignored', 'native']).default('ignored'),
  CHAT_REASONING: z.enum(['none', 'thinking_blocks', 'reasoning_content']).default('none'),
  CHAT_CACHE: z.enum(['auto', 'always', 'client']).default('auto'),
  SAME_KEY_IN_BOTH_HEADERS: z.enum(['refused', 'accepted']).default('refused'),
  VERIFIED_MODELS: list,
  ALLOW_FEATURES: list.pipe(z.array(z.enum(PRICED_FEATURES))),
  ...tracingVariables,
});

export type PricedFeature = (typeof PRICED_FEATURES)[number];

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  readonly adminToken: string | undefined;
  /** Further tokens, each with a name and a right. */
  readonly adminTokens: readonly AdminToken[];
  /** The previous token, which is also accepted while a new token replaces it. */
  readonly previousAdminToken: string | undefined;
  /** The admin API that the command line uses instead of the ledger itself. */
  readonly adminUrl: string | undefined;
  /** If set, reading the metrics requires it. */
  readonly metricsToken: string | undefined;
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  /**
   * Empty: limits in memory. One: a server. Several: nodes of a cluster, which report the other
   * nodes.
   */
  readonly redisUrls: readonly string[];
  /** After this time without a response from Redis, a request is admitted by the local limits. */
  readonly redisTimeoutMs: number;
  /** How many replicas share the limits. While Redis cannot be reached, each uses its share. */
  readonly replicas: number;
  /** How many processes serve. With 1, a single process does everything. */
  readonly workers: number;
  /** Without it, requests go to the accounts in `upstreamsPath`, else to the bundled simulator. */
  readonly upstream: { readonly url: string; readonly apiKey: string } | undefined;
  /** A file with several accounts, in place of `upstream`. */
  readonly upstreamsPath: string | undefined;
  /** The provider's Admin API, and its key for accounts without one of their own. */
  readonly providerAdmin: { readonly url: string; readonly key: string | undefined };
  /** The proxies between the gateway and the upstream. */
  readonly proxies: {
    readonly httpsProxy: string | undefined;
    readonly httpProxy: string | undefined;
    readonly noProxy: string | undefined;
  };
  /** The receiver to which events are delivered; `undefined`: events are not delivered. */
  readonly webhook:
    | {
        readonly url: string;
        /** Each webhook is signed with all of them. */
        readonly secrets: readonly string[];
        /** Whether the receiver may be inside a private network, and reached by plain HTTP. */
        readonly allowPrivate: boolean;
      }
    | undefined;
  /** The address at which browsers reach the gateway, without a slash at its end. */
  readonly publicUrl: string | undefined;
  /** `undefined`: no payments are served. */
  readonly stripe:
    | {
        readonly secretKey: string;
        readonly webhookSecrets: readonly string[];
        readonly apiUrl: string | undefined;
        readonly automaticTax: 'on' | 'off';
      }
    | undefined;
  /** The limits of one payment. */
  readonly topUpCents: { readonly minCents: number; readonly maxCents: number };
  readonly priceTablePath: string | undefined;
  /** Whether a request may have its key in `Authorization` and in `x-api-key`. */
  readonly sameKeyInBothHeaders: 'refused' | 'accepted';
  /** The models for verified organizations that are offered: ids of the price table. */
  readonly verifiedModels: readonly string[];
  readonly keyPepper: string | undefined;
  /** The previous pepper, which is also accepted while a new pepper replaces it. */
  readonly previousKeyPepper: string | undefined;
  /**
   * The number of reverse proxies in front of the gateway whose `X-Forwarded-For` entries are
   * trusted.
   */
  readonly trustedProxies: number;
  readonly maxBodyBytes: number;
  /** Memory that request bodies and unread responses may take in one process. */
  readonly bodyMemoryBytes: number;
  /** How long responses of the Responses API are kept; `undefined`: none is. */
  readonly responseMemory: ResponseMemoryLimits | undefined;
  /** Origins whose pages may call the gateway from a browser; `*` stands for all of them. */
  readonly corsOrigins: ReadonlySet<string>;
  /** How long `/readyz` answers 503 before the gateway stops. */
  readonly drainDelayMs: number;
  /** How long clients may take to send requests, and may keep a connection without one. */
  readonly clientTimes: ClientTimes;
  /** How long a stream may be silent before the client gets an event that it ignores. */
  readonly streamSilenceMs: number;
  /** The folder of the built pages, or `none`. Default: that of package `@gateway/dashboard`. */
  readonly pagesDir: string | undefined;
  /** The address at which customers buy credit. Their page links to it. */
  readonly topUpUrl: string | undefined;
  /** Who runs the gateway. Customers see it on their page and on statements. */
  readonly operator: { readonly name: string; readonly contact: string | null } | undefined;
  readonly logLevel: string;
  /** The limits of a key that is created without limits of its own. */
  readonly keyLimits: Policy;
  /** The limits that the keys of an account share, however many there are. */
  readonly accountLimits: Policy;
  /** Threshold of the event `balance.low` for new accounts, in units of 10^-14 USD. */
  readonly lowBalance: bigint | undefined;
  readonly allowedFeatures: ReadonlySet<PricedFeature>;
  /**
   * How far below zero a balance may fall: by the cost of the requests in flight when it crosses
   * zero, or not at all.
   */
  readonly overdraft: 'bounded' | 'none';
  readonly chat: ChatConfig;
  /** `undefined`: no traces are made. */
  readonly tracing: TracingConfig | undefined;
}

/** In milliseconds. `ConnectionLimits` of `http-server.ts` describes each. */
export interface ClientTimes {
  readonly headersTimeoutMs: number;
  readonly uploadStallMs: number;
  readonly uploadMaxMs: number;
  readonly idleTimeoutMs: number;
}

/** Optional features for chat clients, all off by default. */
export interface ChatConfig {
  /** With `native`, the upstream guarantees that answers follow the JSON schema of a request. */
  readonly jsonSchema: 'ignored' | 'native';
  /** The form in which answers return thinking. */
  readonly reasoning: 'none' | 'thinking_blocks' | 'reasoning_content';
  /**
   * Which requests without cache points get some: `auto`, those that are part of a conversation or
   * of an agent's work; `always`, all; `client`, none.
   */
  readonly cache: 'auto' | 'always' | 'client';
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The variables of a process, with those of the file that `ENV_FILE` names. If both have a
 * variable, the process's value is used.
 *
 * @throws {ConfigError} if the file cannot be read
 */
export function readEnvironment(env: Environment): Environment {
  const given = withoutEmpty(env);
  const path = given['ENV_FILE'];
  if (path === undefined) return given;
  try {
    return { ...withoutEmpty(parseEnv(readFileSync(path, 'utf8'))), ...given };
  } catch (error) {
    throw new ConfigError([`ENV_FILE: ${reasonOf(error)}`]);
  }
}

/** Most programs also read `https_proxy` and the like, in lower case, and prefer those. */
function withProxies(env: Environment): Environment {
  const names = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'];
  const lower = names.flatMap((name) => {
    const value = env[name.toLowerCase()];
    return value === undefined ? [] : [[name, value] as const];
  });
  return lower.length === 0 ? env : { ...env, ...Object.fromEntries(lower) };
}

function withoutEmpty(env: Environment): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''),
  );
}

/**
 * @param env - The process environment. Empty variables count as absent. With `ENV_FILE`, the
 * variables of that file are read too.
 * @throws {ConfigError} One line per problem. Secrets are never repeated.
 */
export function readConfig(env: Environment): Config {
  const parsed = environment.safeParse(withProxies(readEnvironment(env)));
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${problemOf(issue)}`),
    );
  }
  const v = parsed.data;
  const problems: string[] = [];
  if (v.DATABASE_URL !== undefined && v.KEY_PEPPER === undefined) {
    problems.push('KEY_PEPPER: is needed with DATABASE_URL, and must be the same on every replica');
  }
  if (v.KEY_PEPPER_PREVIOUS !== undefined && v.KEY_PEPPER_PREVIOUS === v.KEY_PEPPER) {
    problems.push('KEY_PEPPER_PREVIOUS: must differ from KEY_PEPPER');
  }
  if (v.ADMIN_URL !== undefined && v.ADMIN_TOKEN === undefined) {
    problems.push('ADMIN_TOKEN: is needed when ADMIN_URL is set');
  }
  if (v.UPSTREAM_URL !== undefined && v.UPSTREAM_API_KEY === undefined) {
    problems.push('UPSTREAM_API_KEY: is needed when UPSTREAM_URL is set');
  }
  if (v.UPSTREAMS !== undefined && (v.UPSTREAM_API_KEY ?? v.UPSTREAM_URL) !== undefined) {
    problems.push(
      'UPSTREAMS: replaces UPSTREAM_URL and UPSTREAM_API_KEY; set either UPSTREAMS or these two',
    );
  }
  if (
    v.BODY_MEMORY_BYTES !== undefined &&
    v.BODY_MEMORY_BYTES < leastBodyMemory(v.MAX_BODY_BYTES)
  ) {
    problems.push(
      `BODY_MEMORY_BYTES: must be at least ${String(BODIES_AT_ONCE)} times MAX_BODY_BYTES`,
    );
  }
  if (v.PORT !== 0 && v.PORT === v.ADMIN_PORT) {
    problems.push('ADMIN_PORT: must differ from PORT');
  }
  problems.push(...webhookProblems(v), ...stripeProblems(v));
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    host: v.HOST,
    port: v.PORT,
    adminHost: v.ADMIN_HOST,
    adminPort: v.ADMIN_PORT,
    adminToken: v.ADMIN_TOKEN,
    adminTokens: v.ADMIN_TOKENS,
    previousAdminToken: v.ADMIN_TOKEN_PREVIOUS,
    adminUrl: v.ADMIN_URL,
    metricsToken: v.METRICS_TOKEN,
    dataDir: v.DATA_DIR,
    databaseUrl: v.DATABASE_URL,
    redisUrls: v.REDIS_URL,
    redisTimeoutMs: v.REDIS_TIMEOUT_MS,
    replicas: v.REPLICAS,
    workers: v.WORKERS,
    upstream:
      v.UPSTREAM_API_KEY === undefined
        ? undefined
        : { url: v.UPSTREAM_URL ?? PROVIDER_URL, apiKey: v.UPSTREAM_API_KEY },
    upstreamsPath: v.UPSTREAMS,
    providerAdmin: { url: v.ANTHROPIC_ADMIN_URL, key: v.ANTHROPIC_ADMIN_KEY },
    proxies: { httpsProxy: v.HTTPS_PROXY, httpProxy: v.HTTP_PROXY, noProxy: v.NO_PROXY },
    webhook:
      v.WEBHOOK_URL === undefined || v.WEBHOOK_SECRET === undefined
        ? undefined
        : {
            url: v.WEBHOOK_URL,
            secrets: v.WEBHOOK_SECRET,
            allowPrivate: v.WEBHOOK_ALLOW_PRIVATE,
          },
    publicUrl: v.PUBLIC_URL,
    stripe:
      v.STRIPE_SECRET_KEY === undefined || v.STRIPE_WEBHOOK_SECRET === undefined
        ? undefined
        : {
            secretKey: v.STRIPE_SECRET_KEY,
            webhookSecrets: v.STRIPE_WEBHOOK_SECRET,
            apiUrl: v.STRIPE_API_URL,
            automaticTax: v.STRIPE_AUTOMATIC_TAX,
          },
    topUpCents: { minCents: v.TOP_UP_MIN_USD, maxCents: v.TOP_UP_MAX_USD },
    priceTablePath: v.PRICE_TABLE,
    keyPepper: v.KEY_PEPPER,
    previousKeyPepper: v.KEY_PEPPER_PREVIOUS,
    trustedProxies: v.TRUST_PROXY,
    maxBodyBytes: v.MAX_BODY_BYTES,
    bodyMemoryBytes:
      v.BODY_MEMORY_BYTES ?? defaultBodyMemory(v.MAX_BODY_BYTES, v.WORKERS, memoryLimit()),
    responseMemory:
      v.RESPONSE_MEMORY_MINUTES === 0
        ? undefined
        : {
            ttlMs: v.RESPONSE_MEMORY_MINUTES * 60_000,
            maxBytes: v.RESPONSE_MEMORY_BYTES ?? defaultResponseMemory(memoryLimit()),
          },
    corsOrigins: new Set(v.CORS_ORIGINS),
    drainDelayMs: v.DRAIN_DELAY_S * 1000,
    clientTimes: {
      headersTimeoutMs: v.REQUEST_HEAD_S * 1000,
      uploadStallMs: v.UPLOAD_STALL_S * 1000,
      uploadMaxMs: v.UPLOAD_MAX_S * 1000,
      idleTimeoutMs: v.KEEP_ALIVE_S * 1000,
    },
    streamSilenceMs: v.STREAM_SILENCE_S * 1000,
    pagesDir: v.PAGES_DIR,
    topUpUrl: v.TOP_UP_URL,
    operator: v.OPERATOR,
    logLevel: v.LOG_LEVEL,
    keyLimits: {
      concurrency: v.KEY_CONCURRENCY,
      burst: v.KEY_BURST,
      requestsPerMinute: v.KEY_REQUESTS_PER_MINUTE,
    },
    accountLimits: {
      concurrency: v.ACCOUNT_CONCURRENCY ?? KEYS_PER_ACCOUNT * v.KEY_CONCURRENCY,
      burst: v.ACCOUNT_BURST ?? KEYS_PER_ACCOUNT * v.KEY_BURST,
      requestsPerMinute:
        v.ACCOUNT_REQUESTS_PER_MINUTE ?? KEYS_PER_ACCOUNT * v.KEY_REQUESTS_PER_MINUTE,
    },
    lowBalance: v.LOW_BALANCE_USD,
    sameKeyInBothHeaders: v.SAME_KEY_IN_BOTH_HEADERS,
    verifiedModels: v.VERIFIED_MODELS,
    allowedFeatures: new Set(v.ALLOW_FEATURES),
    overdraft: v.OVERDRAFT,
    chat: { jsonSchema: v.CHAT_JSON_SCHEMA, reasoning: v.CHAT_REASONING, cache: v.CHAT_CACHE },
    tracing: tracingConfigOf(v),
  };
}

function webhookProblems(v: z.output<typeof environment>): readonly string[] {
  if (v.WEBHOOK_URL === undefined) {
    return v.WEBHOOK_SECRET === undefined
      ? []
      : ['WEBHOOK_URL: is needed when WEBHOOK_SECRET is set'];
  }
  const problems: string[] = [];
  if (v.WEBHOOK_SECRET === undefined) {
    problems.push('WEBHOOK_SECRET: is needed when WEBHOOK_URL is set');
  }
  const { protocol, username, password } = new URL(v.WEBHOOK_URL);
  if (protocol === 'http:' && !v.WEBHOOK_ALLOW_PRIVATE) {
    problems.push('WEBHOOK_URL: must be https://, unless WEBHOOK_ALLOW_PRIVATE is true');
  }
  if (username !== '' || password !== '') {
    problems.push('WEBHOOK_URL: must not contain a user name or password');
  }
  return problems;
}

function stripeProblems(v: z.output<typeof environment>): readonly string[] {
  const problems: string[] = [];
  if (v.STRIPE_SECRET_KEY !== undefined && v.STRIPE_WEBHOOK_SECRET === undefined) {
    problems.push('STRIPE_WEBHOOK_SECRET: is needed when STRIPE_SECRET_KEY is set');
  }
  if (v.STRIPE_SECRET_KEY === undefined && v.STRIPE_WEBHOOK_SECRET !== undefined) {
    problems.push('STRIPE_SECRET_KEY: is needed when STRIPE_WEBHOOK_SECRET is set');
  }
  if (v.TOP_UP_MIN_USD > v.TOP_UP_MAX_USD) {
    problems.push('TOP_UP_MAX_USD: must be at least TOP_UP_MIN_USD');
  }
  return problems;
}

const TYPES: Readonly<Record<string, string>> = {
  int: 'an integer',
  array: 'an array',
  object: 'an object',
};

/** Names the expected type. Zod's own text also names what it received, such as `NaN`. */
export function problemOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type') return issue.message;
  return `must be ${TYPES[issue.expected] ?? `a ${issue.expected}`}`;
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`configuration cannot be used:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    this.problems = problems;
  }
}
