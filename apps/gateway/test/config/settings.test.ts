/** Settings that cannot be used at the start, or that a reload cannot put into force. */

import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { ConfigError, readConfig } from '../../src/config/config.js';
import { createReloader } from '../../src/config/reloader.js';
import { readPriceTable, readSettings } from '../../src/config/settings.js';
import { startGateway } from '../../src/process/single-process.js';

const DATABASE = {
  DATABASE_URL: 'postgres://gateway@127.0.0.1:1/gateway',
  KEY_PEPPER: 'pepper-of-the-tests',
};

it('the file of upstream accounts is read before the ledger is opened', async () => {
  const config = readConfig({ ...DATABASE, LOG_LEVEL: 'silent', UPSTREAMS: '/nowhere.json' });
  const started = startGateway(config);
  await expect(started).rejects.toThrow(ConfigError);
  await expect(started).rejects.toThrow('UPSTREAMS: ');
});

it('the problems of all files are named at once', () => {
  const files = { UPSTREAMS: '/no-accounts', PRICES: '/no-prices', COSTS: '/no-costs' };
  const problems = Object.entries(files).map(([name, file]): unknown =>
    expect.stringMatching(`^${name}: .*${file}`),
  );
  let found: unknown;
  try {
    const defaults = { adminToken: undefined, upstream: undefined, pepper: DATABASE.KEY_PEPPER };
    readSettings(readConfig({ ...DATABASE, ...files }), defaults);
  } catch (error) {
    found = error;
  }
  expect(found).toMatchObject({ problems: expect.arrayContaining(problems) });
  expect(found).toMatchObject({ problems: { length: problems.length } });
});

// F321
it.each(['PRICES', 'COSTS'])('%s names no table by what all objects have', (variable) => {
  const defaults = { adminToken: undefined, upstream: undefined, pepper: DATABASE.KEY_PEPPER };
  const config = readConfig({ ...DATABASE, [variable]: 'constructor' });
  expect(() => readSettings(config, defaults)).toThrow(`${variable}: ENOENT`);
});

describe('models for verified organizations', () => {
  const offered = (names: string): readonly string[] => {
    const config = readConfig({ ...DATABASE, VERIFIED_MODELS: names });
    return readPriceTable(config).models.map(({ id }) => id);
  };
  const mythos = (ids: readonly string[]): readonly string[] =>
    ids.filter((id) => id.includes('mythos'));

  // F200: a model that the provider serves to verified customers: not offered unless the operator
  // names it.
  it('are offered only if VERIFIED_MODELS names them', () => {
    expect(mythos(offered(''))).toEqual([]);
    expect(mythos(offered('claude-mythos-5, claude-mythos-5-2'))).toEqual([
      'claude-mythos-5-2',
      'claude-mythos-5',
    ]);
    expect(offered('')).toContain('claude-fable-5-2');
  });

  it.each(['claude-opus-5', 'claude-mythos-9', 'Claude-mythos-5'])(
    'cannot be %s, which is not one of them',
    (name) => {
      expect(() => offered(`claude-mythos-5,${name}`)).toThrow(
        `VERIFIED_MODELS: ${name}: must be models of the price table`,
      );
    },
  );
});

it.each([
  [{}, ['ADMIN_TOKEN', 'ADMIN_TOKENS']],
  [{ ADMIN_TOKEN: 'token-of-the-operator' }, []],
])(
  'started with %j, a reload with other tokens names %j as needing a restart',
  async (first, names) => {
    const defaults = { adminToken: undefined, upstream: undefined, pepper: DATABASE.KEY_PEPPER };
    const env: Record<string, string> = { ...DATABASE, UPSTREAM_API_KEY: 'key', ...first };
    const reloader = createReloader({
      env,
      initial: readSettings(readConfig(env), defaults),
      initiallyChanged: { version: 0, texts: {} },
      readChanged: () => Promise.resolve({ version: 0, texts: {} }),
      writeChange: () => Promise.resolve('written'),
      read: (config) => readSettings(config, defaults),
      apply: () => Promise.resolve(),
      workerVersions: () => Promise.resolve([]),
      log: pino({ enabled: false }),
      onReload: () => undefined,
    });
    env['ADMIN_TOKEN'] = 'another-token-of-the-operator';
    env['ADMIN_TOKENS'] = 'shop:credit:token-of-the-shop-1';
    expect((await reloader.reload()).needs_restart).toEqual(names);
  },
);
