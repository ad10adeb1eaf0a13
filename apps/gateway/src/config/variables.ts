/**
 * The variables of the configuration. Each is declared here once: `.env.example`,
 * `farthing config`, `check-config` and the reload follow from this table.
 */

import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { parseUsd } from '@gateway/billing';
import { TOKEN_RIGHTS } from './admin-tokens.js';
import type { AdminToken } from './admin-tokens.js';
import { centsFromUnits } from './cents.js';
import { mailSender, smtpUrl } from './mail-config.js';
import { s3Bucket, s3Endpoint } from './s3-target.js';
import { hasMonthsOfHours, isZone } from '../base/zones.js';
import { tracingVariables } from './tracing-config.js';
import type { Variable } from './variable.js';

const port = z.coerce.number().int().min(0).max(65_535);
/** Stripe's limit for one payment in USD. */
const MAX_CENTS = 99_999_999;
const positive = z.coerce.number().int().min(1);
const text = z.string().trim().min(1);

export const PROVIDER_URL = 'https://api.anthropic.com';

export const PRICED_FEATURES = [
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

/** Features that are refused although the table of prices has prices for them. */
const REFUSED_FEATURES = PRICED_FEATURES.map((feature) => `-${feature}` as const);

const list = z.string().transform((items) =>
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

/** Of a store that may choose short ones. */
const storeSecret = text.regex(/^[\x21-\x7e]*$/, 'must be printable ASCII without spaces');

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

export const VARIABLES = {
  UPSTREAM_API_KEY: {
    section: 'What most gateways set',
    about: "The key of Anthropic's API. Without it the bundled simulator answers.",
    schema: text.optional(),
    isSecret: true,
    isReloadable: true,
  },
  PRICES: {
    about:
      'The models offered and their prices. specification: one input and one output rate per ' +
      'model, cache reads at 10 % and writes at 125 %. list: the prices of the provider. Or a ' +
      'JSON file, or its contents, which may extend either: {"extends":"list","factor":"1.25"}. ' +
      'packages/billing/README.md describes its form. A model may have price_changes, each with an effective_from.',
    schema: text,
    default: 'specification',
    isReloadable: true,
    isChangeable: true,
    isFile: true,
  },
  HOST: {
    group: true,
    about:
      'The address where clients connect. Keep 127.0.0.1 unless a reverse proxy with TLS is in ' +
      'front.',
    schema: text,
    default: '127.0.0.1',
  },
  PORT: {
    schema: port,
    default: '8080',
  },
  TRUST_PROXY: {
    about:
      'The number of reverse proxies in front of the gateway whose X-Forwarded-For entries are ' +
      'trusted.',
    schema: z.coerce.number().int().min(0).max(32),
    default: '0',
  },
  PUBLIC_URL: {
    about:
      'The address at which browsers reach the gateway. Payment links that operators create ' +
      'need it.',
    schema: z
      .url({ protocol: /^https?$/, error: 'must be an http(s):// URL' })
      .transform((url) => url.replace(/\/+$/, ''))
      .optional(),
  },
  OPERATOR: {
    group: true,
    about:
      'Your name, and an address of mail or of the web for questions: Example Ltd ' +
      '<help@example.com>. Customers see both on their page and on statements. Empty: they see ' +
      'neither.',
    schema: operator.optional(),
  },
  TOP_UP_URL: {
    about:
      'The address where your customers buy credit. The customer page links to it. Empty: the ' +
      'page asks customers to contact you.',
    schema: z
      .url({ protocol: /^https?$/, error: 'must be an address such as https://shop.example.com' })
      .optional(),
  },
  DATA_DIR: {
    group: true,
    about:
      'Embedded default: the folder of the ledger (ledger.db) and of secrets, readable by their ' +
      'owner only. Must be on a local disk. Empty: farthing in XDG_DATA_HOME, or in ' +
      '~/.local/share; in a clone of the repository, .data.',
    schema: text.optional(),
  },
  DATABASE_URL: {
    about:
      'PostgreSQL as the ledger, which several machines can share. Example: ' +
      'postgres://gateway:secret@db.internal:5432/gateway',
    schema: z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' }).optional(),
    isSecret: true,
  },
  KEY_PEPPER: {
    about:
      'Secret that API keys are hashed with. Required if DATABASE_URL is set. It must be the ' +
      'same on every replica: with another pepper no existing key is recognised. The embedded ' +
      'default makes one on its first start.',
    schema: pepper.optional(),
    isSecret: true,
  },
  ADMIN_TOKEN: {
    about:
      'The credential of operators, for the console and the admin API. The embedded default makes ' +
      'one on its first start and keeps it in DATA_DIR. With DATABASE_URL, neither is served ' +
      'without this or ADMIN_TOKENS.',
    schema: headerToken.optional(),
    isSecret: true,
    isReloadable: true,
  },
  ENV_FILE: {
    section: 'More settings',
    about:
      'Another file of NAME=value lines. A variable of the environment takes precedence over ' +
      'it, too. On SIGHUP and on `farthing reload`, the gateway reads prices, models, the ' +
      "upstream's key, the limits of new keys, the admin tokens and METRICS_TOKEN from it " +
      'again.',
    schema: text.optional(),
  },
  CORS_ORIGINS: {
    group: true,
    about:
      'Web pages that may call the gateway from a browser: origins such as ' +
      'https://app.example.com, separated by commas, or * for all. Empty: none. A page that has ' +
      'a key can spend the balance of the key.',
    schema: list.pipe(
      z.array(
        z
          .string()
          .regex(
            /^(\*|https?:\/\/[^/?#\s]+)$/,
            'must be origins such as https://app.example.com, or *',
          ),
      ),
    ),
    default: '',
  },
  OPERATOR_ADDRESS: {
    group: true,
    about:
      'Your address, and a tax number where statements need one. Semicolons separate the lines: ' +
      '1 Example Street; 12345 Town; VAT DE123456789.',
    schema: text
      .transform((lines) =>
        lines
          .split(';')
          .map((line) => line.trim())
          .filter((line) => line !== ''),
      )
      .optional(),
  },
  STATEMENT_NOTE: {
    about: 'A text below the sums of each statement, such as what applies to taxes.',
    schema: text.max(2_000, 'must have at most 2000 characters').optional(),
  },
  BOOKS_TIME_ZONE: {
    group: true,
    about:
      'The time zone in which the months of books and statements begin and end, such as ' +
      'Europe/Rome. Sums are kept by hours of UTC, so months there must begin with one.',
    schema: text
      .refine(isZone, 'must be a time zone, such as Europe/Rome')
      .refine((zone) => !isZone(zone) || hasMonthsOfHours(zone, Date.now()), {
        error: ({ input }) => `${String(input)}: its months do not begin at whole hours of UTC`,
      }),
    default: 'UTC',
  },
  BOOKS_CLOSE_AFTER_DAYS: {
    about:
      'A month is closed by itself so many days after its end, and its statements are issued. ' +
      'Empty: only by farthing books close.',
    schema: z.coerce.number().int().min(1).max(365).optional(),
  },
  BOOKS_ACCOUNTS: {
    about:
      'A JSON file, or its contents, with the account numbers of your bookkeeping, for exports of ' +
      'journals: {"accounts":{"balance:paid":"3500","revenue":{"number":"4400","tax_key":"0003"}},' +
      '"datev":{"consultant":1001,"client":1}}. An error names the sides that are missing.',
    schema: text.optional(),
    isFile: true,
  },
  CHARGEBACK_DIR: {
    about:
      'A folder into which a file of each day is written, an hour after its end, with what each ' +
      'member, group and tag cost, in the columns of FOCUS. Empty: only by farthing chargeback.',
    schema: text.optional(),
  },
  CHARGEBACK_S3: {
    about:
      'The same into a bucket of an S3-compatible store: s3://bucket/prefix. The key may read and ' +
      'write its objects, and list them. The default of the endpoint is that of AWS in the region.',
    schema: s3Bucket.optional(),
  },
  CHARGEBACK_S3_ENDPOINT: {
    schema: s3Endpoint.optional(),
  },
  CHARGEBACK_S3_REGION: {
    schema: text.regex(/^[a-z0-9-]{1,50}$/, 'must be a region such as eu-central-1'),
    default: 'us-east-1',
  },
  CHARGEBACK_S3_KEY_ID: {
    schema: storeSecret.optional(),
  },
  CHARGEBACK_S3_SECRET: {
    schema: storeSecret.optional(),
    isSecret: true,
  },
  ADMIN_HOST: {
    group: true,
    about:
      "The operator's API, metrics and health. They listen on this machine only, even if HOST is " +
      'set.',
    schema: text,
    default: '127.0.0.1',
  },
  ADMIN_PORT: {
    schema: port,
    default: '8081',
  },
  ADMIN_TOKEN_PREVIOUS: {
    about: 'Accepted as well, while ADMIN_TOKEN is being replaced.',
    schema: headerToken.optional(),
    isSecret: true,
    isReloadable: true,
  },
  ADMIN_TOKENS: {
    about:
      'More tokens, separated by commas. Each has a name, which appears in the trail, and a ' +
      'right (all, credit or read): shop:credit:<token>,grafana:read:<token>',
    schema: list.pipe(z.array(adminToken)),
    default: '',
    isSecret: true,
    isReloadable: true,
  },
  LOW_BALANCE_USD: {
    about:
      'An event is written when the balance of a new account falls to this amount. Empty: none.',
    schema: usd.optional(),
    isReloadable: true,
    isChangeable: true,
  },
  LEAK_EVENTS: {
    about:
      'notify: an event is written when a key uses a model or a network (IPv4 /24, IPv6 /48) that ' +
      'it never used, or spends ten times its usual pace. suspend: the key is suspended, too.',
    schema: z.enum(['off', 'notify', 'suspend'], { error: 'must be off, notify or suspend' }),
    default: 'off',
  },
  WEBHOOK_URL: {
    about:
      'Where events (balance.low, credit.added, ...) are sent as signed webhooks. Empty: events ' +
      'are only listed by `farthing events`. Must be https://.',
    schema: z.url({ protocol: /^https?$/, error: 'must be an https:// URL' }).optional(),
    isSecret: true,
  },
  WEBHOOK_SECRET: {
    about:
      'Signs the webhooks: whsec_ and the base64 of 24 to 64 bytes. While one secret replaces ' +
      'another, give both, separated by a space.',
    schema: text
      .transform((secrets) => secrets.split(/\s+/))
      .pipe(z.array(webhookSecret).max(10, 'must be at most 10 secrets'))
      .optional(),
    isSecret: true,
  },
  WEBHOOK_ALLOW_PRIVATE: {
    about:
      'true: the receiver may be inside a private network, and its address may begin with ' +
      'http://.',
    schema: z
      .enum(['true', 'false'], { error: 'must be true or false' })
      .transform((value) => value === 'true'),
    default: 'false',
  },
  SMTP_URL: {
    about:
      'The server through which notices go to customers by mail, with its log-in, ' +
      'percent-encoded: smtp://user:password@mail.example.com, on port 587 with STARTTLS, or ' +
      'smtps://, on port 465. Notices go to accounts that have an address for them. Empty: no mail.',
    schema: smtpUrl.optional(),
    isSecret: true,
  },
  MAIL_FROM: {
    about: 'The sender of these mails: Example Ltd <billing@example.com>.',
    schema: mailSender.optional(),
  },
  ADMIN_URL: {
    about:
      "For the command line: the address of a running gateway's admin API. The command line " +
      'then uses this API, with ADMIN_TOKEN, instead of opening the ledger itself.',
    schema: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' }).optional(),
  },
  METRICS_TOKEN: {
    about:
      'If set, requests to /metrics must have the header "Authorization: Bearer ' +
      '<METRICS_TOKEN>".',
    schema: headerToken.optional(),
    isSecret: true,
    isReloadable: true,
  },
  KEY_PEPPER_PREVIOUS: {
    group: true,
    about:
      'Accepted as well, while KEY_PEPPER replaces it: see "Replace the pepper" in ' +
      'docs/operating.md.',
    schema: pepper.optional(),
    isSecret: true,
  },
  REDIS_URL: {
    group: true,
    about:
      'A Redis server through which several replicas share limits. Without it, each replica ' +
      'counts for itself. Example: redis://limits.internal:6379. Several addresses, separated ' +
      'by commas, are nodes of a Redis Cluster. They need not be all of its nodes, because the ' +
      'cluster reports the others.',
    schema: list.pipe(
      z.array(z.url({ protocol: /^rediss?$/, error: 'must be redis:// URLs separated by commas' })),
    ),
    default: '',
    isSecret: true,
  },
  REDIS_TIMEOUT_MS: {
    about:
      'If Redis does not respond within this time, in milliseconds, this process alone decides ' +
      'about a request, by its share of the limits. Raise it if Redis is far away.',
    schema: positive.max(5_000),
    default: '100',
  },
  // Not counted in Redis: the number is needed exactly while Redis cannot be reached, also by a
  // process that starts then. Too small a count would multiply what customers may send.
  REPLICAS: {
    about:
      'The number of replicas that share the limits. While Redis cannot be reached, each ' +
      'process of each replica (WORKERS) enforces an equal part of them.',
    schema: positive.max(10_000),
    default: '1',
  },
  WORKERS: {
    group: true,
    about:
      'The number of processes that serve clients on the same port; auto is one for each core. ' +
      'They share limits and balances even without Redis and PostgreSQL. 1 is a single process ' +
      'that does everything.',
    schema: z.union(
      [z.literal('auto').transform(() => availableParallelism()), positive.max(1_024)],
      {
        error: 'must be auto or an integer of at least 1',
      },
    ),
    default: '1',
  },
  UPSTREAM_URL: {
    group: true,
    about: "The address of the model API, if it is not Anthropic's.",
    schema: z.url({ protocol: /^https?$/, error: 'must be an http(s):// URL' }).optional(),
    isReloadable: true,
  },
  UPSTREAMS: {
    about:
      'Instead of UPSTREAM_URL and UPSTREAM_API_KEY: a JSON file with one or more accounts of the ' +
      'same API. ' +
      '{"accounts":[{"name":"main","api_key_file":"/run/secrets/main","requests_per_minute":1000,"tokens_per_minute":400000}]} ' +
      'An account may also have api_key and url. docs/homes.md has what other homes of the models ' +
      'need: auth, headers, models, version, version_in, lacks; and routes, fences, costs and prices ' +
      'by home. With unclear_failures "move", a request that ' +
      'failed after it was sent moves too, although both accounts may bill it. The requests of ' +
      'one key go to one account while that account is available. The two limits per minute are ' +
      'optional. Keys share them fairly. Each process of each replica (WORKERS, REPLICAS) uses an ' +
      'equal part of them.',
    schema: text.optional(),
    isReloadable: true,
  },
  ANTHROPIC_ADMIN_KEY: {
    about:
      "For `farthing reconcile`: a key of Anthropic's Admin API (sk-ant-admin…). The gateway reads " +
      'the usage that the provider counted and the costs that it bills. The key is a secret. ' +
      'Without it, this comparison is not available. An account in UPSTREAMS may have a key of ' +
      'its own: admin_key or admin_key_file.',
    schema: text.regex(ADMIN_KEY_FORM, ADMIN_KEY_PROBLEM).optional(),
    isSecret: true,
  },
  HTTPS_PROXY: {
    about:
      "Proxies between the gateway and the upstream or Anthropic's Admin API, and hosts that are " +
      'reached without one. For a CA of your own, set NODE_EXTRA_CA_CERTS to its file.',
    schema: proxyUrl.optional(),
    isSecret: true,
  },
  HTTP_PROXY: {
    schema: proxyUrl.optional(),
    isSecret: true,
  },
  NO_PROXY: {
    schema: text.optional(),
  },
  SAME_KEY_IN_BOTH_HEADERS: {
    group: true,
    about:
      'A request must have its key in one header. accepted: the same key may be in ' +
      'Authorization and in x-api-key, as Claude Code with apiKeyHelper sends it. Two different ' +
      'keys are refused.',
    schema: z.enum(['refused', 'accepted']),
    default: 'refused',
  },
  CUSTOMER_PRICES: {
    group: true,
    about:
      'A JSON file, or its contents, of price tables for single customers, by name. Each is like ' +
      'that of PRICES and may also extend "prices", which is the table of PRICES: {"partners": {"extends": ' +
      '"prices", "factor": "0.9"}}. An account gets one by its name. Requests of an account whose ' +
      'table is missing are answered with 503.',
    schema: text.optional(),
    isReloadable: true,
    isChangeable: true,
    isFile: true,
  },
  COSTS: {
    about:
      'What requests cost you: list (what the provider lists), specification, or a file like ' +
      'that of PRICES, for instance with a discount. Each charge records its cost: usage and its ' +
      "CSV show cost and margin, and reconcile compares the costs with the provider's. none: no " +
      'costs are recorded.',
    schema: text.default('list'),
    isReloadable: true,
    isChangeable: true,
    isFile: true,
  },
  VERIFIED_MODELS: {
    group: true,
    about:
      'Models of the table that the provider serves only to organizations that it has verified ' +
      '(verified_only), separated by commas, such as claude-mythos-5-2. They are not offered ' +
      'unless named here.',
    schema: list,
    default: '',
    isReloadable: true,
    isChangeable: true,
  },
  ALLOW_FEATURES: {
    group: true,
    about:
      'Upstream features that are refused unless named here or priced by PRICES, ' +
      'separated by commas: web_search, code_execution, fast_mode, inference_geo, fallbacks, ' +
      'mcp, advisor, compaction, unknown_tools. web_search also allows web_search_options in ' +
      'chat requests and web_search tools in requests of the Responses API, with at most 5 ' +
      'searches in each request. code_execution also allows a new container with skills of type ' +
      'anthropic. unknown_tools allows tools whose type this version does not know. The models ' +
      'of fallbacks and advisors must have prices and be allowed to the key. Their tokens are ' +
      'charged at their rates. What PRICES does not price, you pay. list prices web_search, ' +
      'fast_mode, inference_geo, fallbacks, compaction and advisor, and so allows them; a minus ' +
      'sign refuses one all the same: -web_search.',
    schema: list.pipe(z.array(z.enum([...PRICED_FEATURES, ...REFUSED_FEATURES]))),
    default: '',
  },
  // Not `native` by default: docs/decisions/0026.
  CHAT_JSON_SCHEMA: {
    group: true,
    about:
      'Options for chat clients beyond the specification. native: response_format json_schema ' +
      "and strict functions use the upstream's structured outputs, which guarantee the schema. " +
      'ignored: they are ignored without an error.',
    schema: z.enum(['ignored', 'native']),
    default: 'ignored',
  },
  CHAT_REASONING: {
    about:
      'The form in which responses contain thinking. thinking_blocks: native blocks with their ' +
      'signatures. reasoning_content: these blocks, and also the text of the thinking while it ' +
      'is generated, in the member that most clients read. none: no thinking.',
    schema: z.enum(['none', 'thinking_blocks', 'reasoning_content']),
    default: 'none',
  },
  CHAT_CACHE: {
    about:
      'Which chat and Responses requests without cache points get some. Each request of a ' +
      'conversation then reads the previous one from the cache, at a tenth of the price of ' +
      'plain input. Writing the cache costs a quarter more than plain input. auto: requests ' +
      'that contain an answer of the model, or offer tools and do not force a call, as agents ' +
      "do. always: all requests, also single questions. client: none; only the client's own " +
      'cache points are sent.',
    schema: z.enum(['auto', 'always', 'client']),
    default: 'auto',
  },
  OVERDRAFT: {
    group: true,
    about:
      'How far below zero a balance may fall. bounded: by the charges of the requests in flight ' +
      'when it crosses zero, at most as many as ACCOUNT_CONCURRENCY, so by at most that number ' +
      'times the most expensive request. none: never. The most a request can cost is set aside ' +
      'before it is sent, and a request whose amount exceeds the free balance is refused with ' +
      '402. If a chat or Responses request has no limit of its answer, the gateway first lowers ' +
      'the limit that it chose, down to 4,096 tokens. Compacting edits and advisors are refused ' +
      'with 400, because their cost has no limit. A tool that the provider runs may read the ' +
      'whole context again with each use: the cost of up to ten readings is set aside, or of ' +
      'fewer with max_uses. A tool with a fee in PRICES needs max_uses, or its requests get 400; ' +
      'so do all tools that the provider runs while PRICES has a fee that is named after none of ' +
      'them. Use the same setting on every replica.',
    schema: z.enum(['bounded', 'none']),
    default: 'bounded',
  },
  TUNING: {
    group: true,
    about:
      'Whether the gateway uses the insides of other programs: flags of V8 that are set at run ' +
      "time (garbage collection), and the header of SQLite's index of its log (admissions from " +
      'memory). full: both, as tried with Node 22 and 24. none: neither; requests then take more ' +
      'CPU time. Choose it when a new version of Node is suspected of a fault.',
    schema: z.enum(['full', 'none']),
    default: 'full',
  },
  STRIPE_SECRET_KEY: {
    group: true,
    about:
      'Payments by Stripe: see docs/payments.md. Without STRIPE_SECRET_KEY no payments are ' +
      'served. Both values are secrets. While one webhook secret replaces another, give both, ' +
      'separated by a space.',
    schema: text
      .regex(/^(sk|rk)_(test|live)_\w+$/, 'must be sk_test_…, sk_live_…, rk_test_… or rk_live_…')
      .optional(),
    isSecret: true,
  },
  STRIPE_WEBHOOK_SECRET: {
    schema: text
      .transform((secrets) => secrets.split(/\s+/))
      .pipe(
        z
          .array(
            z.string().regex(/^whsec_\S{8,}$/, 'must be whsec_…, or several separated by spaces'),
          )
          .max(10, 'must be at most 10 secrets'),
      )
      .optional(),
    isSecret: true,
  },
  TOP_UP_TAX: {
    about:
      'Whether Stripe computes the tax of what customers pay. included: the amount of a top-up ' +
      'contains it. added: customers pay it beyond the amount. What remains after tax is ' +
      'credited. off: none. STRIPE_AUTOMATIC_TAX=on, its former name, means included.',
    schema: z.enum(['off', 'included', 'added']).optional(),
  },
  STRIPE_AUTOMATIC_TAX: {
    schema: z.enum(['on', 'off'], { error: 'must be on or off' }),
    default: 'off',
  },
  TOP_UP_MIN_USD: {
    about: 'The smallest and the largest top-up in USD, without fractions of a cent.',
    schema: wholeCents,
    default: '5',
  },
  TOP_UP_MAX_USD: {
    schema: wholeCents,
    default: '1000',
  },
  MAX_BODY_BYTES: {
    group: true,
    about: 'Largest request body, after decompression. 33554432 is 32 MiB.',
    schema: positive.max(1024 * 1024 * 1024),
    default: '33554432',
  },
  BODY_MEMORY_BYTES: {
    about:
      'The memory that request bodies and unread responses may use in one process at the same ' +
      'time. The keys of an account together may use at most as much as remains free, so an ' +
      'account that is alone may use half. An eighth is kept for bodies and responses below 64 ' +
      'KiB. Memory is reserved as a body arrives, not when its length is declared. Default: a ' +
      'sixth of the memory of the machine or container, divided among the workers, at most 2 ' +
      'GiB and at least four times MAX_BODY_BYTES. A request that does not fit gets 429 if its ' +
      'account would use more than half, otherwise 529. A plain response that does not fit waits ' +
      'for up to 30 seconds; then it is only charged, and its client gets 502. While many large bodies arrive, the ' +
      'process needs up to twice this memory, and four times MAX_BODY_BYTES; the gateway warns if ' +
      'there is less.',
    schema: positive.optional(),
  },
  REQUEST_RECORD_DAYS: {
    group: true,
    about:
      'How many days the record of requests is kept, to the end of the day in UTC: each request ' +
      'with its key, model, status, error, times, tokens and charge, failed ones too, never a prompt or an answer. It is not ' +
      'part of the ledger. 0: no requests are recorded.',
    schema: z.coerce.number().int().min(0).max(400),
    default: '30',
  },
  // Not derived from the days: four requests a second fill it in a month, and only the operator
  // knows how much of the disk may be used.
  REQUEST_RECORD_ROWS: {
    about:
      'If more requests than this are in the record, the oldest are deleted earlier. A million ' +
      'take some 300 MB of disk. Sums of deleted requests stay for REQUEST_RECORD_DAYS.',
    schema: z.coerce.number().int().min(1_000).max(1_000_000_000),
    default: '10000000',
  },
  TAG_METADATA_MEMBER: {
    about:
      'The member of metadata in a request whose text is recorded as its tag, such as project: up ' +
      'to 64 printable characters. Usage is shown by tag. The header x-gateway-tag names one in ' +
      'any format, and comes first. In the native format the provider admits only user_id.',
    schema: text
      .regex(/^[\w.-]{1,64}$/, 'must have up to 64 letters, digits, dots, _ and -')
      .optional(),
  },
  RESPONSE_MEMORY_MINUTES: {
    group: true,
    about:
      'How long a response of the Responses API is kept after it was made or used, in minutes, ' +
      'so that clients can continue it (previous_response_id) or refer to its items: at most ' +
      '1440. It has the whole conversation. A client that sends store: false, as Codex does, ' +
      'has nothing kept. 0: nothing is kept, and such references are refused. With ' +
      'CHAT_REASONING, the thinking of chat answers with tool calls is kept, too.',
    schema: z.coerce.number().int().min(0).max(1_440),
    default: '30',
  },
  RESPONSE_MEMORY_BYTES: {
    about:
      'The memory of all kept responses: in Redis with REDIS_URL, otherwise in the gateway, ' +
      'once for all of its workers. If it is too small, the account that has the most forgets ' +
      'what it used least recently. Each process uses up to as much again for responses that ' +
      'are being made. Default: a 64th of the memory of the machine or container, at most 64 ' +
      'MiB. Use the same value on every replica that shares a Redis.',
    schema: positive.max(64 * 1024 ** 3).optional(),
  },
  DRAIN_DELAY_S: {
    group: true,
    about:
      'When the gateway stops, /readyz answers 503 for this many seconds before the gateway ' +
      'stops accepting requests. Set it to more than the time that your load balancer needs to ' +
      'notice the 503: then no request is refused during a restart. At most 600.',
    schema: z.coerce.number().int().min(0).max(600),
    default: '0',
  },
  UPLOAD_MAX_S: {
    group: true,
    about:
      'How long clients may take, in seconds. UPLOAD_MAX_S: until an upload is complete, so also ' +
      'the longest time for which a client that uploads slowly holds memory. An upload that is ' +
      'silent, or slower than 1 KiB per second, for a minute is refused earlier. The answer is ' +
      '408, and nothing is charged. KEEP_ALIVE_S: until a connection without a request is closed. ' +
      'Set it to more than the idle timeout of a proxy in front.',
    schema: positive.max(86_400),
    default: '600',
  },
  KEEP_ALIVE_S: {
    schema: positive.max(3_600),
    default: '75',
  },
  LOG_LEVEL: {
    group: true,
    about: 'fatal, error, warn, info, debug, trace or silent',
    schema: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    default: 'info',
  },
  ...tracingVariables,
  KEY_CONCURRENCY: {
    group: true,
    about:
      'Limits of a key that is created without limits of its own: requests in flight at once, ' +
      'requests at once after a pause, and sustained requests per minute.',
    schema: positive.max(100_000),
    default: '20',
    isReloadable: true,
    isChangeable: true,
  },
  KEY_BURST: {
    schema: positive.max(1_000_000),
    default: '60',
    isReloadable: true,
    isChangeable: true,
  },
  KEY_REQUESTS_PER_MINUTE: {
    schema: positive.max(10_000_000),
    default: '600',
    isReloadable: true,
    isChangeable: true,
  },
  ACCOUNT_CONCURRENCY: {
    group: true,
    about:
      'Limits that the keys of an account share, however many there are. Requests of revoked ' +
      'keys count until they end. Each is by default five times the setting for keys above. An ' +
      'account is never limited to less than the key that makes the request.',
    schema: positive.max(1_000_000).optional(),
    isReloadable: true,
    isChangeable: true,
  },
  ACCOUNT_BURST: {
    schema: positive.max(10_000_000).optional(),
    isReloadable: true,
    isChangeable: true,
  },
  ACCOUNT_REQUESTS_PER_MINUTE: {
    schema: positive.max(100_000_000).optional(),
    isReloadable: true,
    isChangeable: true,
  },
  PAGES_DIR: {
    section: 'For tests and proxies',
    about:
      'The folder of the web pages, with customer/ and console/ in it. Empty: the pages that ' +
      'apps/dashboard builds. none: no pages.',
    schema: text.optional(),
  },
  STRIPE_API_URL: {
    about: "The address of Stripe's API, if it is not Stripe's own.",
    schema: z
      .string()
      .regex(/^https?:\/\/[^/?#\s]+\/?$/, 'must be an http(s):// URL without a path')
      .optional(),
  },
  ANTHROPIC_ADMIN_URL: {
    about: "The address of Anthropic's Admin API, which ANTHROPIC_ADMIN_KEY is for.",
    schema: z.url({ protocol: /^https?$/, error: 'must be an http(s):// URL' }),
    default: PROVIDER_URL,
  },
} as const satisfies Readonly<Record<string, Variable>>;

/** Variables that earlier versions had, each with what applies in its place. */
export const RETIRED: ReadonlyMap<string, string> = new Map([
  ['UPLOAD_STALL_S', 'an upload may be silent for 60 s'],
  ['REQUEST_HEAD_S', 'the head of a request may take 10 s'],
  ['STREAM_SILENCE_S', 'a stream is never silent for more than 10 s'],
]);

/** Variables by name, as a process has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

export type VariableName = keyof typeof VARIABLES;
export type PricedFeature = (typeof PRICED_FEATURES)[number];

/** Their names, for what looks a name up that may be none of them. */
export const BY_NAME: ReadonlyMap<string, Variable> = new Map(Object.entries(VARIABLES));

const DEFAULTS = Object.fromEntries(
  [...BY_NAME].flatMap(([name, { default: text }]) => (text === undefined ? [] : [[name, text]])),
);

const values = z.object(
  Object.fromEntries([...BY_NAME].map(([name, { schema }]) => [name, schema])),
) as unknown as z.ZodObject<{
  readonly [Name in VariableName]: (typeof VARIABLES)[Name]['schema'];
}>;

export type Values = z.output<typeof values>;

/** Reads the texts of variables. Those that are absent have their defaults. */
export function parseVariables(env: Environment) {
  return values.safeParse({ ...DEFAULTS, ...env });
}
