/** Settings that cannot be used at the start, or that a reload cannot put into force. */

import { expect, it } from '@jest/globals';
import { pino } from 'pino';
import { ConfigError, readConfig } from '../src/config.js';
import { createReloader } from '../src/settings/reloader.js';
import { readSettings } from '../src/settings/settings.js';
import { startGateway } from '../src/single-process.js';

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
