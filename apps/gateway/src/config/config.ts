/**
 * The gateway's configuration: environment variables and the file that `ENV_FILE` names. Every
 * problem is reported with the name of its variable; nothing is clamped or guessed.
 */

import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { z } from 'zod';
import { reasonOf } from '../base/error-code.js';
import { MINUTE_MS } from '../base/times.js';
import {
  BODIES_AT_ONCE,
  defaultBodyMemory,
  defaultResponseMemory,
  leastBodyMemory,
  memoryLimit,
} from './body-memory.js';
import { defaultDataDir } from './default-data-dir.js';
import { s3Problems, s3TargetOf } from './s3-target.js';
import { tracingConfigOf } from './tracing-config.js';
import { PRICED_FEATURES, PROVIDER_URL, parseVariables } from './variables.js';
import type { Environment, Values } from './variables.js';

/** An account's limits are by default those of this many keys. */
const KEYS_PER_ACCOUNT = 5;

export type Config = ReturnType<typeof configOf>;

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

/**
 * The variables of a process, with those of the file that `ENV_FILE` names. If both have a
 * variable, the process's value is used.
 *
 * @throws {ConfigError} if the file cannot be read
 */
export function readEnvironment(env: Environment): Environment {
  const given = withoutEmpty(env);
  const path = given['ENV_FILE'];
  if (path === undefined) return withProxies(given);
  try {
    return withProxies({ ...withoutEmpty(parseEnv(readFileSync(path, 'utf8'))), ...given });
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
 * @param changed - Variables that operators changed, in place of those of the environment.
 * @throws {ConfigError} One line per problem. Secrets are never repeated.
 */
export function readConfig(env: Environment, changed: Environment = {}): Config {
  const parsed = parseVariables({ ...readEnvironment(env), ...changed });
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
  if (v.OPERATOR === undefined && (v.OPERATOR_ADDRESS ?? v.STATEMENT_NOTE) !== undefined) {
    problems.push('OPERATOR: is needed when OPERATOR_ADDRESS or STATEMENT_NOTE is set');
  }
  problems.push(...webhookProblems(v), ...stripeProblems(v), ...s3Problems(v));
  if (v.SMTP_URL !== undefined && v.MAIL_FROM === undefined) {
    problems.push('MAIL_FROM: is needed when SMTP_URL is set');
  }
  if (v.SMTP_URL === undefined && v.MAIL_FROM !== undefined) {
    problems.push('SMTP_URL: is needed when MAIL_FROM is set');
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return configOf(v, env);
}

function configOf(v: Values, env: Environment) {
  return {
    /** Where it was read from, to read it again. */
    env,
    host: v.HOST,
    port: v.PORT,
    adminHost: v.ADMIN_HOST,
    adminPort: v.ADMIN_PORT,
    adminToken: v.ADMIN_TOKEN,
    /** Further tokens, each with a name and a right. */
    adminTokens: v.ADMIN_TOKENS,
    /** The previous token, which is also accepted while a new token replaces it. */
    previousAdminToken: v.ADMIN_TOKEN_PREVIOUS,
    /** The admin API that the command line uses instead of the ledger itself. */
    adminUrl: v.ADMIN_URL,
    /** If set, reading the metrics requires it. */
    metricsToken: v.METRICS_TOKEN,
    dataDir: v.DATA_DIR ?? defaultDataDir(env),
    databaseUrl: v.DATABASE_URL,
    /**
     * Empty: limits in memory. One: a server. Several: nodes of a cluster, which report the other
     * nodes.
     */
    redisUrls: v.REDIS_URL,
    /** After this time without a response from Redis, a request is admitted by the local limits. */
    redisTimeoutMs: v.REDIS_TIMEOUT_MS,
    /** How many replicas share the limits. While Redis cannot be reached, each uses its share. */
    replicas: v.REPLICAS,
    /** How many processes serve. With 1, a single process does everything. */
    workers: v.WORKERS,
    /** Without it, `upstreamsPath` names accounts, or the bundled simulator answers. */
    upstream:
      v.UPSTREAM_API_KEY === undefined
        ? undefined
        : { url: v.UPSTREAM_URL ?? PROVIDER_URL, apiKey: v.UPSTREAM_API_KEY },
    /** A file with several accounts, in place of `upstream`. */
    upstreamsPath: v.UPSTREAMS,
    /** The provider's Admin API, and its key for accounts without one of their own. */
    providerAdmin: { url: v.ANTHROPIC_ADMIN_URL, key: v.ANTHROPIC_ADMIN_KEY },
    /** The proxies between the gateway and the upstream. */
    proxies: { httpsProxy: v.HTTPS_PROXY, httpProxy: v.HTTP_PROXY, noProxy: v.NO_PROXY },
    /** The receiver to which events are delivered; `undefined`: events are not delivered. */
    webhook:
      v.WEBHOOK_URL === undefined || v.WEBHOOK_SECRET === undefined
        ? undefined
        : {
            url: v.WEBHOOK_URL,
            secrets: v.WEBHOOK_SECRET,
            allowPrivate: v.WEBHOOK_ALLOW_PRIVATE,
          },
    /** `undefined`: no notices are sent by mail. */
    mail:
      v.SMTP_URL === undefined || v.MAIL_FROM === undefined
        ? undefined
        : { server: v.SMTP_URL, from: v.MAIL_FROM },
    /** The address at which browsers reach the gateway, without a slash at its end. */
    publicUrl: v.PUBLIC_URL,
    /** `undefined`: no payments are served. */
    stripe:
      v.STRIPE_SECRET_KEY === undefined || v.STRIPE_WEBHOOK_SECRET === undefined
        ? undefined
        : {
            secretKey: v.STRIPE_SECRET_KEY,
            webhookSecrets: v.STRIPE_WEBHOOK_SECRET,
            apiUrl: v.STRIPE_API_URL,
          },
    /** The limits of one payment. */
    topUpTax: v.TOP_UP_TAX ?? (v.STRIPE_AUTOMATIC_TAX === 'on' ? 'included' : 'off'),
    topUpCents: { minCents: v.TOP_UP_MIN_USD, maxCents: v.TOP_UP_MAX_USD },
    prices: v.PRICES,
    /** The file of price tables for single customers. */
    customerPrices: v.CUSTOMER_PRICES,
    costs: v.COSTS,
    keyPepper: v.KEY_PEPPER,
    /** The previous pepper, which is also accepted while a new pepper replaces it. */
    previousKeyPepper: v.KEY_PEPPER_PREVIOUS,
    maxBodyBytes: v.MAX_BODY_BYTES,
    /** Memory that request bodies and unread responses may take in one process. */
    bodyMemoryBytes:
      v.BODY_MEMORY_BYTES ?? defaultBodyMemory(v.MAX_BODY_BYTES, v.WORKERS, memoryLimit()),
    /** How long, and how many, requests are kept in their record; with 0 days, none is. */
    requestRecord: { days: v.REQUEST_RECORD_DAYS, maxRows: v.REQUEST_RECORD_ROWS },
    /** The member of a request's `metadata` by which requests are summed. */
    tagMember: v.TAG_METADATA_MEMBER,
    /** How long responses of the Responses API are kept; `undefined`: none is. */
    responseMemory: responseMemoryOf(v),
    /** How long `/readyz` answers 503 before the gateway stops. */
    drainDelayMs: v.DRAIN_DELAY_S * 1000,
    /** How long clients may take to upload, and may keep a connection without a request. */
    clientTimes: {
      uploadMaxMs: v.UPLOAD_MAX_S * 1000,
      idleTimeoutMs: v.KEEP_ALIVE_S * 1000,
    },
    /** The folder of the built pages, or `none`. Default: that of package `@gateway/dashboard`. */
    pagesDir: v.PAGES_DIR,
    logLevel: v.LOG_LEVEL,
    /** The limits of a key that is created without limits of its own. */
    keyLimits: {
      concurrency: v.KEY_CONCURRENCY,
      burst: v.KEY_BURST,
      requestsPerMinute: v.KEY_REQUESTS_PER_MINUTE,
    },
    /** The limits that the keys of an account share, however many there are. */
    accountLimits: {
      concurrency: v.ACCOUNT_CONCURRENCY ?? KEYS_PER_ACCOUNT * v.KEY_CONCURRENCY,
      burst: v.ACCOUNT_BURST ?? KEYS_PER_ACCOUNT * v.KEY_BURST,
      requestsPerMinute:
        v.ACCOUNT_REQUESTS_PER_MINUTE ?? KEYS_PER_ACCOUNT * v.KEY_REQUESTS_PER_MINUTE,
    },
    /** Threshold of the event `balance.low` for new accounts, in units of 10^-14 USD. */
    lowBalance: v.LOW_BALANCE_USD,
    /** Whether it is noticed that a key may have leaked, and whether that suspends it. */
    leakEvents: v.LEAK_EVENTS,
    /** The models for verified organizations that are offered: ids of the price table. */
    verifiedModels: v.VERIFIED_MODELS,
    allowedFeatures: new Set(PRICED_FEATURES.filter((name) => v.ALLOW_FEATURES.includes(name))),
    refusedFeatures: new Set(
      PRICED_FEATURES.filter((name) => v.ALLOW_FEATURES.includes(`-${name}`)),
    ),
    /** Whether the gateway may use what the insides of V8 and SQLite offer, or only their APIs. */
    tuning: v.TUNING,
    chat: { jsonSchema: v.CHAT_JSON_SCHEMA, reasoning: v.CHAT_REASONING, cache: v.CHAT_CACHE },
    /** `undefined`: no traces are made. */
    tracing: tracingConfigOf(v),
    ...partsOf(v),
  };
}

/** What rooms have in their parts as it is: a setting that is added here needs nothing more. */
function partsOf(v: Values) {
  return {
    /** In `AppParts`. */
    app: {
      /** The number of reverse proxies in front whose `X-Forwarded-For` entries are trusted. */
      trustedProxies: v.TRUST_PROXY,
      /** Origins whose pages may call the gateway from a browser; `*` stands for all of them. */
      corsOrigins: new Set(v.CORS_ORIGINS),
    },
    /** In `ExchangeParts`. */
    exchange: {
      /** Whether a request may have its key in `Authorization` and in `x-api-key`. */
      sameKeyInBothHeaders: v.SAME_KEY_IN_BOTH_HEADERS,
      /**
       * How far below zero a balance may fall: by the cost of the requests in flight when it
       * crosses zero, or not at all.
       */
      overdraft: v.OVERDRAFT,
    },
    books: {
      closeAfterDays: v.BOOKS_CLOSE_AFTER_DAYS,
      accounts: v.BOOKS_ACCOUNTS,
      /** Where the chargeback of each day is written. */
      chargebackDir: v.CHARGEBACK_DIR,
      chargebackBucket: s3TargetOf(v),
    },
    /** In `CustomerParts`. */
    customer: {
      /** The address at which customers buy credit. Their page links to it. */
      topUpUrl: v.TOP_UP_URL,
      /** Who runs the gateway, and issues statements. Customers see it on their page, too. */
      operator: operatorOf(v),
      /** In which months begin and end. */
      booksZone: v.BOOKS_TIME_ZONE,
      /** Whether notices can be sent by mail. */
      sendsMail: v.SMTP_URL !== undefined,
    },
  };
}

function responseMemoryOf(v: Values): ResponseMemoryLimits | undefined {
  if (v.RESPONSE_MEMORY_MINUTES === 0) return undefined;
  return {
    ttlMs: v.RESPONSE_MEMORY_MINUTES * MINUTE_MS,
    maxBytes: v.RESPONSE_MEMORY_BYTES ?? defaultResponseMemory(memoryLimit()),
  };
}

function operatorOf(v: Values) {
  if (v.OPERATOR === undefined) return undefined;
  return { ...v.OPERATOR, address: v.OPERATOR_ADDRESS ?? [], note: v.STATEMENT_NOTE ?? null };
}

function webhookProblems(v: Values): readonly string[] {
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

function stripeProblems(v: Values): readonly string[] {
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
  constructor(problems: readonly string[], what = 'configuration cannot be used') {
    super(`${what}:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    this.problems = problems;
  }
}

/**
 * Reads one of several parts, so that the problems of all of them are found.
 *
 * @param problems - Gets the problems of a {@link ConfigError}; `undefined` is returned then.
 */
export function readPart<Part>(problems: string[], read: () => Part): Part | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}

export interface ResponseMemoryLimits {
  /** How long a response is kept after it was made or used. */
  readonly ttlMs: number;
  /** The memory of all accounts. */
  readonly maxBytes: number;
}
