import { availableParallelism, homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  defaultBodyMemory,
  defaultResponseMemory,
  memoryLimit,
  memoryProblem,
} from '../../src/config/body-memory.js';
import { ConfigError, readConfig } from '../../src/config/config.js';
import { CONNECTION_LIMITS, connectionLimitsOf } from '../../src/http/http-server.js';

const MEBIBYTE = 1024 ** 2;
const GIBIBYTE = 1024 ** 3;

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('readConfig', () => {
  it('needs no variable', () => {
    expect(readConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      dataDir: join(homedir(), '.local/share/farthing'),
      upstream: undefined,
      databaseUrl: undefined,
      maxBodyBytes: 33_554_432,
      metricsToken: undefined,
      app: { corsOrigins: new Set() },
    });
  });

  // F463: a command is typed in another folder than the one in which the gateway was started: it
  // finds the same ledger, because the folder of the ledger depends on the user only.
  it('keeps the ledger where programs of a user keep their data, unless told otherwise', () => {
    const dataDirOf = (env: Record<string, string>) => readConfig(env).dataDir;
    expect(dataDirOf({ XDG_DATA_HOME: '/data of/users' })).toBe('/data of/users/farthing');
    expect(dataDirOf({ XDG_DATA_HOME: 'relative' })).toBe(dataDirOf({}));
    expect(dataDirOf({ XDG_DATA_HOME: '/data', DATA_DIR: './here' })).toBe('./here');
  });

  it('can listen on all addresses while the admin API stays local', () => {
    expect(readConfig({}).adminHost).toBe('127.0.0.1');
    expect(readConfig({ HOST: '0.0.0.0' }).adminHost).toBe('127.0.0.1');
    expect(readConfig({ HOST: '::1' }).adminHost).toBe('127.0.0.1');
    const both = readConfig({ HOST: '::', ADMIN_HOST: '10.0.0.1' });
    expect(both).toMatchObject({ host: '::', adminHost: '10.0.0.1' });
  });

  it('sets the memory for bodies to at least four times MAX_BODY_BYTES, and refuses less', () => {
    const oneGigabyte = 2 ** 30;
    const { bodyMemoryBytes } = readConfig({ MAX_BODY_BYTES: String(oneGigabyte) });
    expect(bodyMemoryBytes).toBeGreaterThanOrEqual(4 * oneGigabyte);
    const sizes = { MAX_BODY_BYTES: '1000', BODY_MEMORY_BYTES: '4000' };
    expect(readConfig(sizes).bodyMemoryBytes).toBe(4000);
    expect(problemsOf({ ...sizes, BODY_MEMORY_BYTES: '3999' })).toEqual([
      'BODY_MEMORY_BYTES: must be at least 4 times MAX_BODY_BYTES',
    ]);
  });

  it('divides a sixth of the memory among the workers, at most 2 GiB each unless four of the largest bodies need more', () => {
    expect(defaultBodyMemory(1000, 1, 6 * GIBIBYTE)).toBe(GIBIBYTE);
    expect(defaultBodyMemory(1000, 4, 6 * GIBIBYTE)).toBe(GIBIBYTE / 4);
    expect(defaultBodyMemory(1000, 1, 64 * GIBIBYTE)).toBe(2 * GIBIBYTE);
    expect(defaultBodyMemory(GIBIBYTE, 1, 8 * GIBIBYTE)).toBe(4 * GIBIBYTE);
  });

  it('reports a memory for bodies that is too large for the memory of the system', () => {
    const sizes = {
      workers: 2,
      maxBodyBytes: 32 * MEBIBYTE,
      bodyMemoryBytes: 256 * MEBIBYTE,
      responseMemory: undefined,
    };
    expect(memoryProblem(sizes, 2 * GIBIBYTE)).toBeUndefined();
    const keeping = { ...sizes, responseMemory: { maxBytes: 128 * MEBIBYTE } };
    expect(memoryProblem(keeping, 2 * GIBIBYTE)).toContain('may need 2364 MiB of memory');
    expect(memoryProblem(sizes, GIBIBYTE)).toBe(
      'BODY_MEMORY_BYTES: with 256 MiB for bodies in each process, the gateway may need 1980 MiB ' +
        'of memory, but there are 1024 MiB',
    );
  });

  it('keeps responses for half an hour, in a 64th of the memory or 64 MiB, unless told otherwise', () => {
    expect(defaultResponseMemory(768 * MEBIBYTE)).toBe(12 * MEBIBYTE);
    expect(defaultResponseMemory(64 * GIBIBYTE)).toBe(64 * MEBIBYTE);
    expect(readConfig({}).responseMemory).toEqual({
      ttlMs: 30 * 60_000,
      maxBytes: defaultResponseMemory(memoryLimit()),
    });
    expect(
      readConfig({ RESPONSE_MEMORY_MINUTES: '1', RESPONSE_MEMORY_BYTES: '7' }).responseMemory,
    ).toEqual({ ttlMs: 60_000, maxBytes: 7 });
    expect(readConfig({ RESPONSE_MEMORY_MINUTES: '0' }).responseMemory).toBe(undefined);
    expect(problemsOf({ RESPONSE_MEMORY_MINUTES: '1441' })).toHaveLength(1);
    // The smallest container for which the defaults are meant.
    const container = 768 * MEBIBYTE;
    const maxBodyBytes = 32 * MEBIBYTE;
    expect(
      memoryProblem(
        {
          workers: 1,
          maxBodyBytes,
          bodyMemoryBytes: defaultBodyMemory(maxBodyBytes, 1, container),
          responseMemory: { maxBytes: defaultResponseMemory(container) },
        },
        container,
      ),
    ).toBe(undefined);
  });

  it('reads the times that clients have, in seconds', () => {
    const env = { UPLOAD_MAX_S: '3', KEEP_ALIVE_S: '4' };
    expect(readConfig(env).clientTimes).toEqual({ uploadMaxMs: 3_000, idleTimeoutMs: 4_000 });
    expect(() => readConfig({ UPLOAD_MAX_S: '0' })).toThrow('UPLOAD_MAX_S');
    expect(connectionLimitsOf(readConfig({}).clientTimes)).toEqual(CONNECTION_LIMITS);
  });

  it('reads the mail server and the sender of mails, which need each other', () => {
    const MAIL_FROM = 'Bücher & Söhne <billing@example.com>';
    const from = { name: 'Bücher & Söhne', address: 'billing@example.com' };
    expect(readConfig({ SMTP_URL: 'smtp://a%40b:p%2Fw@[::1]', MAIL_FROM }).mail).toEqual({
      server: { host: '::1', port: 587, isTls: false, login: { user: 'a@b', pass: 'p/w' } },
      from,
    });
    expect(readConfig({ SMTP_URL: 'smtps://mail.example.com', MAIL_FROM }).mail).toEqual({
      server: { host: 'mail.example.com', port: 465, isTls: true, login: undefined },
      from,
    });
    expect(() => readConfig({ SMTP_URL: 'smtp://mail.example.com' })).toThrow('MAIL_FROM');
    expect(() => readConfig({ MAIL_FROM })).toThrow('SMTP_URL');
  });

  it('counts empty variables as absent', () => {
    const env = { PORT: '', DATABASE_URL: ' ' };
    expect(readConfig(env)).toEqual({ ...readConfig({}), env });
  });

  it.each([
    ['PORT', 'eighty'],
    ['PORT', '70000'],
    ['ADMIN_PORT', '-1'],
    ['ADMIN_TOKEN', 'short'],
    ['METRICS_TOKEN', 'short'],
    ['METRICS_TOKEN', 'with a space in the middle'],
    ['CORS_ORIGINS', 'app.example.com'],
    ['CORS_ORIGINS', 'https://app.example.com/path'],
    ['DATABASE_URL', 'mysql://db'],
    ['REDIS_URL', 'localhost:6379'],
    ['REDIS_URL', 'redis://a:6379,localhost:6379'],
    ['UPSTREAM_URL', 'ftp://upstream'],
    ['KEY_PEPPER', 'short'],
    ['TRUST_PROXY', 'true'],
    ['MAX_BODY_BYTES', '0'],
    ['LOG_LEVEL', 'loud'],
    ['KEY_CONCURRENCY', '0'],
    ['KEY_BURST', '1.5'],
    ['KEY_REQUESTS_PER_MINUTE', 'many'],
    ['ACCOUNT_CONCURRENCY', '0'],
    ['ACCOUNT_BURST', '2.5'],
    ['ACCOUNT_REQUESTS_PER_MINUTE', '-1'],
    ['ALLOW_FEATURES', 'teleport'],
    ['REDIS_TIMEOUT_MS', '0'],
    ['CHAT_JSON_SCHEMA', 'strict'],
    ['CHAT_REASONING', 'all'],
    ['CHAT_CACHE', 'yes'],
    ['REPLICAS', '0'],
    ['WORKERS', '0'],
    ['WORKERS', 'all'],
    ['SMTP_URL', 'mail.example.com'],
    ['SMTP_URL', 'http://mail.example.com'],
    ['SMTP_URL', 'smtp://'],
    ['SMTP_URL', 'smtp://user@mail.example.com'],
    ['SMTP_URL', 'smtp://user:p%ss@mail.example.com'],
    ['SMTP_URL', 'smtp://mail.example.com/?tls.rejectUnauthorized=false'],
    ['MAIL_FROM', 'billing'],
    ['MAIL_FROM', 'A\r\nBcc: all@example.com <billing@example.com>'],
    ['MAIL_FROM', 'A <billing@example.com>, B <b@example.com>'],
    ['WEBHOOK_URL', 'hooks.example.com'],
    ['WEBHOOK_URL', 'ftp://hooks.example.com'],
    ['WEBHOOK_SECRET', 'secret'],
    ['WEBHOOK_SECRET', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw whsec_short'],
    ['WEBHOOK_SECRET', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS*'],
    ['WEBHOOK_SECRET', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwA'],
    ['WEBHOOK_ALLOW_PRIVATE', 'yes'],
    ['STRIPE_SECRET_KEY', 'pk_test_1'],
    ['STRIPE_SECRET_KEY', 'sk_1'],
    ['STRIPE_WEBHOOK_SECRET', 'secret'],
    ['STRIPE_WEBHOOK_SECRET', 'whsec_12345678 other'],
    ['STRIPE_API_URL', 'https://stripe.test/path'],
    ['STRIPE_AUTOMATIC_TAX', 'yes'],
    ['TOP_UP_MIN_USD', '0.49'],
    ['TOP_UP_MAX_USD', '10.001'],
    ['TOP_UP_MAX_USD', '1000000'],
    ['PUBLIC_URL', 'gateway.example'],
  ])('refuses %s=%s, naming the variable', (name, value) => {
    const problems = problemsOf({ [name]: value });
    expect(problems.some((problem) => problem.startsWith(name))).toBe(true);
  });

  it('accepts a number of workers, or auto for one per core', () => {
    expect(readConfig({}).workers).toBe(1);
    expect(readConfig({ WORKERS: '3' }).workers).toBe(3);
    expect(readConfig({ WORKERS: 'auto' }).workers).toBe(availableParallelism());
    expect(problemsOf({ WORKERS: 'all' })).toEqual([
      'WORKERS: must be auto or an integer of at least 1',
    ]);
  });

  it('says which type a number must have', () => {
    expect(problemsOf({ PORT: 'x', REPLICAS: '1.5' })).toEqual([
      'PORT: must be a number',
      'REPLICAS: must be an integer',
    ]);
  });

  it('reports every problem at once and repeats no value', () => {
    const problems = problemsOf({ KEY_PEPPER: 'hunter2', ADMIN_TOKEN: 'letmein', PORT: 'x' });
    expect(problems).toHaveLength(3);
    expect(problems.join()).not.toMatch(/hunter2|letmein/);
  });

  it('requires the variables that PostgreSQL and another upstream need, and an admin port of its own', () => {
    expect(problemsOf({ DATABASE_URL: 'postgres://db/gateway' })).toEqual([
      expect.stringMatching(/^KEY_PEPPER/),
    ]);
    expect(problemsOf({ UPSTREAM_URL: 'https://upstream.test' })).toEqual([
      expect.stringMatching(/^UPSTREAM_API_KEY/),
    ]);
    expect(problemsOf({ PORT: '9000', ADMIN_PORT: '9000' })).toEqual([
      expect.stringMatching(/^ADMIN_PORT/),
    ]);
  });

  it('reads the address and the secrets of the receiver of events', () => {
    expect(readConfig({}).webhook).toBeUndefined();
    const [old, next] = [
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      `whsec_${Buffer.alloc(64, 7).toString('base64')}`,
    ];
    const given = {
      WEBHOOK_URL: 'https://hooks.test/gateway',
      WEBHOOK_SECRET: ` ${old}  ${next} `,
    };
    expect(readConfig(given).webhook).toEqual({
      url: 'https://hooks.test/gateway',
      secrets: [old, next],
      allowPrivate: false,
    });
    const inside = { WEBHOOK_URL: 'http://10.0.0.1/', WEBHOOK_ALLOW_PRIVATE: 'true' };
    expect(readConfig({ ...given, ...inside }).webhook?.allowPrivate).toBe(true);
  });

  it.each([
    [{ WEBHOOK_URL: 'https://hooks.test' }, 'WEBHOOK_SECRET: is needed when WEBHOOK_URL is set'],
    [
      { WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
      'WEBHOOK_URL: is needed when WEBHOOK_SECRET is set',
    ],
    [
      {
        WEBHOOK_URL: 'http://hooks.test',
        WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      },
      'WEBHOOK_URL: must be https://, unless WEBHOOK_ALLOW_PRIVATE is true',
    ],
    [
      {
        WEBHOOK_URL: 'https://user:canary@hooks.test',
        WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      },
      'WEBHOOK_URL: must not contain a user name or password',
    ],
    [
      { WEBHOOK_SECRET: `whsec_${Buffer.alloc(23).toString('base64')}` },
      'WEBHOOK_SECRET.0: must have 24 to 64 bytes after whsec_, in base64',
    ],
  ])('refuses %j: %s', (env, problem) => {
    expect(problemsOf(env)).toEqual([problem]);
  });

  it('accepts payments only with both secrets, and with a maximum not below the minimum', () => {
    expect(readConfig({}).stripe).toBeUndefined();
    const [secretKey, webhookSecret] = ['sk_test_canary', 'whsec_canary_of_the_tests'];
    expect(problemsOf({ STRIPE_SECRET_KEY: secretKey })).toEqual([
      'STRIPE_WEBHOOK_SECRET: is needed when STRIPE_SECRET_KEY is set',
    ]);
    expect(problemsOf({ STRIPE_WEBHOOK_SECRET: webhookSecret })).toEqual([
      'STRIPE_SECRET_KEY: is needed when STRIPE_WEBHOOK_SECRET is set',
    ]);
    expect(problemsOf({ TOP_UP_MIN_USD: '20', TOP_UP_MAX_USD: '19.99' })).toEqual([
      'TOP_UP_MAX_USD: must be at least TOP_UP_MIN_USD',
    ]);
    const config = readConfig({
      STRIPE_SECRET_KEY: secretKey,
      STRIPE_WEBHOOK_SECRET: `${webhookSecret}  whsec_of_before`,
      PUBLIC_URL: 'https://gateway.example//',
      TOP_UP_MIN_USD: '0.5',
    });
    expect(config).toMatchObject({
      publicUrl: 'https://gateway.example',
      stripe: {
        secretKey,
        webhookSecrets: [webhookSecret, 'whsec_of_before'],
        apiUrl: undefined,
      },
      topUpTax: 'off',
      topUpCents: { minCents: 50, maxCents: 100_000 },
    });
    expect(readConfig({ TOP_UP_TAX: 'added' }).topUpTax).toBe('added');
    // Its former name.
    const former = { STRIPE_AUTOMATIC_TAX: 'on' };
    expect(readConfig(former).topUpTax).toBe('included');
    expect(readConfig({ ...former, TOP_UP_TAX: 'off' }).topUpTax).toBe('off');
  });
});

it('the limits of an account are by default five times those of a key', () => {
  const { accountLimits } = readConfig({ KEY_CONCURRENCY: '7', ACCOUNT_BURST: '9' });
  expect(accountLimits).toEqual({ concurrency: 35, burst: 9, requestsPerMinute: 3_000 });
});
