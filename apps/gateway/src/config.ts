/**
 * The gateway's configuration: environment variables, checked once at start. Every problem is
 * reported with the name of its variable; nothing is clamped or guessed.
 */

import { availableParallelism, totalmem } from 'node:os';
import { z } from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);
const positive = z.coerce.number().int().min(1);
const text = z.string().trim().min(1);

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

/** A secret that travels in a header, after a space. */
const headerToken = text
  .min(16, 'must have at least 16 characters')
  .regex(/^[\x21-\x7e]*$/, 'must be printable ASCII without spaces');

const environment = z.object({
  HOST: text.default('127.0.0.1'),
  PORT: port.default(8080),
  // HOST does not apply: opening the gateway to clients must not open its administration to them.
  ADMIN_HOST: text.default('127.0.0.1'),
  ADMIN_PORT: port.default(8081),
  ADMIN_TOKEN: headerToken.optional(),
  ADMIN_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })
    .optional(),
  METRICS_TOKEN: headerToken.optional(),
  DATA_DIR: text.default('./.data'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' })
    .optional(),
  REDIS_URL: list.pipe(
    z.array(z.url({ protocol: /^rediss?$/, error: 'must be a redis:// URL, or several' })),
  ),
  REPLICAS: positive.max(10_000).default(1),
  WORKERS: z
    .union([z.literal('auto').transform(() => availableParallelism()), positive.max(1_024)], {
      error: 'must be auto or an integer of at least 1',
    })
    .default(1),
  UPSTREAM_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s):// URL' }).optional(),
  UPSTREAM_API_KEY: text.optional(),
  PRICE_TABLE: text.optional(),
  KEY_PEPPER: text.min(16, 'must have at least 16 characters').optional(),
  TRUST_PROXY: z.coerce.number().int().min(0).max(32).default(0),
  MAX_BODY_BYTES: positive.max(1024 * 1024 * 1024).default(32 * 1024 * 1024),
  BODY_MEMORY_BYTES: positive.optional(),
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
  OVERDRAFT: z.enum(['bounded', 'none']).default('bounded'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  KEY_CONCURRENCY: positive.max(100_000).default(20),
  KEY_BURST: positive.max(1_000_000).default(60),
  KEY_REQUESTS_PER_MINUTE: positive.max(10_000_000).default(600),
  ALLOW_FEATURES: list.pipe(z.array(z.enum(PRICED_FEATURES))),
});

export type PricedFeature = (typeof PRICED_FEATURES)[number];

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly adminHost: string;
  readonly adminPort: number;
  readonly adminToken: string | undefined;
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
  /** How many replicas share the limits; each takes its share while Redis is away. */
  readonly replicas: number;
  /** How many processes serve. With 1, a single process does everything. */
  readonly workers: number;
  /** `undefined`: the bundled simulator serves. */
  readonly upstream: { readonly url: string; readonly apiKey: string } | undefined;
  readonly priceTablePath: string | undefined;
  readonly keyPepper: string | undefined;
  /** Number of reverse proxies in front, whose `X-Forwarded-For` entries are believed. */
  readonly trustedProxies: number;
  readonly maxBodyBytes: number;
  /** Memory that request bodies and unread responses may take in one process. */
  readonly bodyMemoryBytes: number;
  /** Origins whose pages may call the gateway from a browser; `*` stands for all of them. */
  readonly corsOrigins: ReadonlySet<string>;
  readonly logLevel: string;
  readonly keyLimits: {
    readonly concurrency: number;
    readonly burst: number;
    readonly requestsPerMinute: number;
  };
  readonly allowedFeatures: ReadonlySet<PricedFeature>;
  /**
   * How far below zero a balance may fall: by what the requests in flight cost when it crosses
   * zero, or not at all.
   */
  readonly overdraft: 'bounded' | 'none';
}

const PROVIDER_URL = 'https://api.anthropic.com';

/**
 * @param env - The process environment. Empty variables count as absent.
 * @throws {ConfigError} One line per variable that cannot be used. Values are never repeated.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''),
  );
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${problemOf(issue)}`),
    );
  }
  const v = parsed.data;
  const problems: string[] = [];
  if (v.DATABASE_URL !== undefined && v.KEY_PEPPER === undefined) {
    problems.push('KEY_PEPPER: is needed with DATABASE_URL, the same on every replica');
  }
  if (v.ADMIN_URL !== undefined && v.ADMIN_TOKEN === undefined) {
    problems.push('ADMIN_TOKEN: is needed when ADMIN_URL is set');
  }
  if (v.UPSTREAM_URL !== undefined && v.UPSTREAM_API_KEY === undefined) {
    problems.push('UPSTREAM_API_KEY: is needed when UPSTREAM_URL is set');
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
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    host: v.HOST,
    port: v.PORT,
    adminHost: v.ADMIN_HOST,
    adminPort: v.ADMIN_PORT,
    adminToken: v.ADMIN_TOKEN,
    adminUrl: v.ADMIN_URL,
    metricsToken: v.METRICS_TOKEN,
    dataDir: v.DATA_DIR,
    databaseUrl: v.DATABASE_URL,
    redisUrls: v.REDIS_URL,
    replicas: v.REPLICAS,
    workers: v.WORKERS,
    upstream:
      v.UPSTREAM_API_KEY === undefined
        ? undefined
        : { url: v.UPSTREAM_URL ?? PROVIDER_URL, apiKey: v.UPSTREAM_API_KEY },
    priceTablePath: v.PRICE_TABLE,
    keyPepper: v.KEY_PEPPER,
    trustedProxies: v.TRUST_PROXY,
    maxBodyBytes: v.MAX_BODY_BYTES,
    bodyMemoryBytes: v.BODY_MEMORY_BYTES ?? defaultBodyMemory(v.MAX_BODY_BYTES, v.WORKERS),
    corsOrigins: new Set(v.CORS_ORIGINS),
    logLevel: v.LOG_LEVEL,
    keyLimits: {
      concurrency: v.KEY_CONCURRENCY,
      burst: v.KEY_BURST,
      requestsPerMinute: v.KEY_REQUESTS_PER_MINUTE,
    },
    allowedFeatures: new Set(v.ALLOW_FEATURES),
    overdraft: v.OVERDRAFT,
  };
}

/**
 * Two bodies, each compressed and decompressed, for half of the memory, which is one key's share.
 */
const BODIES_AT_ONCE = 4;
const SHARE_OF_MEMORY = 0.25;
const MOST_BODY_MEMORY_BYTES = 2 * 1024 ** 3;

/** A quarter of the memory that the system or the container allows this process. */
function defaultBodyMemory(maxBodyBytes: number, workers: number): number {
  const limit = process.constrainedMemory();
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  const share = Math.min(MOST_BODY_MEMORY_BYTES, Math.floor((memory * SHARE_OF_MEMORY) / workers));
  return Math.max(leastBodyMemory(maxBodyBytes), share);
}

function leastBodyMemory(maxBodyBytes: number): number {
  return BODIES_AT_ONCE * maxBodyBytes;
}

/** zod quotes what it received for some problems; a secret must not reach a terminal that way. */
function problemOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `must be a ${issue.expected}`;
  return issue.message;
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`configuration cannot be used:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    this.problems = problems;
  }
}
