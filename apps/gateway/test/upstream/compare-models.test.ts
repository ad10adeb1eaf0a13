/** The models of an upstream compared with the price table, and upstreams that do not list them. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { defaultPriceTableJson } from '@gateway/billing';
import { MODEL, startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const KEY = 'the-upstream-key-that-nobody-sees';

const cleanUps: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function startUpstream(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

/** Lists one model per page, starting after the model that `after_id` names. */
function offers(...ids: readonly string[]): RequestListener {
  return (req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '', 'http://upstream');
    if (pathname !== '/v1/models' || req.headers['x-api-key'] !== KEY) {
      res.writeHead(401).end('{}');
      return;
    }
    const place = ids.indexOf(searchParams.get('after_id') ?? '') + 1;
    const data = ids.slice(place, place + 1).map((id) => ({ type: 'model', id }));
    const hasMore = place + 1 < ids.length;
    res.end(JSON.stringify({ data, has_more: hasMore, last_id: ids[place] ?? null }));
  };
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-models-'));
  cleanUps.push(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

async function startGateway(env: Readonly<Record<string, string>>): Promise<TestGateway> {
  const gateway = await startTestGateway({ env: { UPSTREAM_API_KEY: KEY, ...env } });
  cleanUps.push(() => gateway.stop());
  return gateway;
}

describe('the comparison with the upstream', () => {
  it('reads every page, counts an alias as its model, and lists the models that one side lacks', async () => {
    const named = defaultPriceTableJson.models.find(({ aliases = [] }) => aliases.length > 0);
    const [alias = ''] = named?.aliases ?? [];
    const url = await startUpstream(offers(MODEL, alias, 'claude-new-1', 'claude-new-2'));
    const gateway = await startGateway({ UPSTREAM_URL: `${url}/v1` });
    const { offered, gone, missing } = await gateway.call('compareModels', {});
    expect([...offered].sort()).toEqual([MODEL, named?.id].sort());
    expect(missing.map(({ id }) => id)).toEqual(['claude-new-1', 'claude-new-2']);
    const all = gateway.running.prices.list().map(({ id }) => id);
    expect([...offered, ...gone].sort()).toEqual([...all].sort());
  });

  it('counts a model as offered if each of several accounts offers it', async () => {
    const file = join(newFolder(), 'upstreams.json');
    const accounts = [
      { name: 'a', url: await startUpstream(offers(MODEL, 'claude-new-1')), api_key: KEY },
      { name: 'b', url: await startUpstream(offers(MODEL, 'claude-opus-5')), api_key: KEY },
    ];
    writeFileSync(file, JSON.stringify({ accounts }));
    const gateway = await startGateway({ UPSTREAMS: file, UPSTREAM_URL: '', UPSTREAM_API_KEY: '' });
    const { offered, missing } = await gateway.call('compareModels', {});
    expect([offered, missing]).toEqual([[MODEL], []]);
  });

  const failures: readonly (readonly [string, RequestListener, string])[] = [
    [
      'a status other than 200',
      (_req, res) => res.writeHead(403).end(KEY),
      'it answered with status 403',
    ],
    [
      'a body that is not a list of models',
      (_req, res) => res.end(JSON.stringify({ data: [{ name: KEY }] })),
      'it answered with something other than a list of models',
    ],
    [
      'a list without an end',
      (_req, res) => res.end(JSON.stringify({ data: [{ id: 'x' }], has_more: true, last_id: 'x' })),
      'its list has more than 10 pages',
    ],
    [
      'a body without an end',
      (_req, res) => {
        const piece = Buffer.alloc(1024 * 1024, ' ');
        const write = (): void => void res.write(piece, (error) => error ?? write());
        write();
      },
      'its response could not be received (UND_ERR_RES_EXCEEDED_MAX_SIZE)',
    ],
    [
      'a closed connection',
      (req) => req.socket.destroy(),
      'its response could not be received (UND_ERR_SOCKET)',
    ],
  ];
  // F131
  it.each(failures)(
    'after %s, reports the reason and nothing that the upstream sent',
    async (...given) => {
      const [, listener, reason] = given;
      const gateway = await startGateway({ UPSTREAM_URL: await startUpstream(listener) });
      const failed: unknown = await gateway
        .call('compareModels', {})
        .catch((error: unknown) => error);
      expect(failed).toMatchObject({
        status: 502,
        message: `the upstream's models cannot be read: ${reason}`,
      });
    },
  );
});

describe('the price table', () => {
  it('shows each rate, and the next change of each model', async () => {
    const file = join(newFolder(), 'prices.json');
    const [first, second] = ['2098-01-01T00:00:00Z', '2099-01-01T00:00:00Z'];
    const models = defaultPriceTableJson.models.map((model) => {
      if (model.id === 'claude-haiku-4-5') {
        const price_changes = [{ effective_from: first, rate_in: '9.00', rate_out: '9.00' }];
        return { ...model, price_changes };
      }
      if (model.id !== MODEL) return model;
      const same = { rate_in: '3.00', rate_out: '15.00' };
      const price_changes = [
        { effective_from: first, ...same },
        { effective_from: second, ...same, rate_in: '4.00', cache_write_1h: '2' },
      ];
      return { ...model, rate_in: '3.00', rate_out: '15.00', price_changes };
    });
    writeFileSync(file, JSON.stringify({ models }));
    const gateway = await startGateway({ PRICES: file });
    const { data } = await gateway.call('listModels', {});
    const next = new Map(data.map(({ id, next_change: change }) => [id, change]));
    expect(data.find(({ id }) => id === MODEL)?.rates).toEqual({
      input: '3',
      output: '15',
      cache_read: '0.3',
      cache_write_5m: '3.75',
      cache_write_1h: '3.75',
    });
    // The first of its changes leaves the rates of this model as they are, so it is not shown.
    expect(next.get(MODEL)).toEqual({
      effective_from: '2099-01-01T00:00:00.000Z',
      rates: {
        input: '4',
        output: '15',
        cache_read: '0.4',
        cache_write_5m: '5',
        cache_write_1h: '8',
      },
    });
    expect(next.get('claude-haiku-4-5')?.effective_from).toBe('2098-01-01T00:00:00.000Z');
    expect(next.get('claude-opus-5')).toBe(null);
  });
});
