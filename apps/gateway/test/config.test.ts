import { availableParallelism } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { ConfigError, readConfig } from '../src/config.js';

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
  it('needs nothing', () => {
    expect(readConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      dataDir: './.data',
      upstream: undefined,
      databaseUrl: undefined,
      maxBodyBytes: 33_554_432,
      metricsToken: undefined,
      corsOrigins: new Set(),
    });
  });

  it('opens the gateway to others without opening its administration', () => {
    expect(readConfig({}).adminHost).toBe('127.0.0.1');
    expect(readConfig({ HOST: '0.0.0.0' }).adminHost).toBe('127.0.0.1');
    expect(readConfig({ HOST: '::1' }).adminHost).toBe('127.0.0.1');
    const both = readConfig({ HOST: '::', ADMIN_HOST: '10.0.0.1' });
    expect(both).toMatchObject({ host: '::', adminHost: '10.0.0.1' });
  });

  it('has memory for four bodies at least, however little the machine has', () => {
    const oneGigabyte = 2 ** 30;
    const { bodyMemoryBytes } = readConfig({ MAX_BODY_BYTES: String(oneGigabyte) });
    expect(bodyMemoryBytes).toBeGreaterThanOrEqual(4 * oneGigabyte);
    const sizes = { MAX_BODY_BYTES: '1000', BODY_MEMORY_BYTES: '4000' };
    expect(readConfig(sizes).bodyMemoryBytes).toBe(4000);
    expect(problemsOf({ ...sizes, BODY_MEMORY_BYTES: '3999' })).toEqual([
      'BODY_MEMORY_BYTES: must be at least 4 times MAX_BODY_BYTES',
    ]);
  });

  it('counts empty variables as absent', () => {
    expect(readConfig({ PORT: '', DATABASE_URL: ' ' })).toEqual(readConfig({}));
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
    ['ALLOW_FEATURES', 'teleport'],
    ['REPLICAS', '0'],
    ['WORKERS', '0'],
    ['WORKERS', 'all'],
  ])('names %s when it is %s', (name, value) => {
    const problems = problemsOf({ [name]: value });
    expect(problems.some((problem) => problem.startsWith(name))).toBe(true);
  });

  it('takes a number of workers, or one for each core', () => {
    expect(readConfig({}).workers).toBe(1);
    expect(readConfig({ WORKERS: '3' }).workers).toBe(3);
    expect(readConfig({ WORKERS: 'auto' }).workers).toBe(availableParallelism());
    expect(problemsOf({ WORKERS: 'all' })).toEqual([
      'WORKERS: must be auto or an integer of at least 1',
    ]);
  });

  it('tells every problem at once and repeats no value', () => {
    const problems = problemsOf({ KEY_PEPPER: 'hunter2', ADMIN_TOKEN: 'letmein', PORT: 'x' });
    expect(problems).toHaveLength(3);
    expect(problems.join()).not.toMatch(/hunter2|letmein/);
  });

  it('asks for what PostgreSQL and another upstream need', () => {
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
});
