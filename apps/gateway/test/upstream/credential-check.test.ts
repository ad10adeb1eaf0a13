/** Whether the upstream accepts the credentials: asked before a customer finds out. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createCredentialWatch } from '../../src/upstream/credential-watch.js';
import { checkCredentials } from '../../src/upstream/list-models.js';
import { gatewayCommand } from '../support/gateway-process.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import { eventually } from '../support/until.js';

const RIGHT = 'the-right-key-of-the-upstream';
const WRONG = 'a-wrong-key-of-the-upstream';

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

/** An upstream that lists its models for the right key only. */
const asks: RequestListener = (req, res) => {
  const isRight = req.headers['x-api-key'] === RIGHT;
  res.writeHead(isRight ? 200 : 401).end(isRight ? '{"data":[]}' : `{"error":"${WRONG}"}`);
};
const answers =
  (status: number): RequestListener =>
  (_req, res) =>
    res.writeHead(status).end('{"data":[]}');
const closes: RequestListener = (req) => req.socket.destroy();

const NOWHERE = 'http://127.0.0.1:1';
const account = (name: string, url: string, apiKey = WRONG) => ({
  name,
  url,
  apiKey,
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
});

/** @returns the lines that were logged */
function newWatch() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: Buffer, _encoding: unknown, done: () => void): void => {
    lines.push(JSON.parse(line.toString()) as Record<string, unknown>);
    done();
  };
  const log = pino({ level: 'debug' }, new Writable({ write }));
  const watch = createCredentialWatch({ proxies: {}, log, now: () => 1_000 });
  cleanUps.push(() => {
    watch.stop();
  });
  return { watch, lines };
}

it('tells a refused credential from an upstream that does not answer the question', async () => {
  const url = await startUpstream(asks);
  const accounts = [
    account('right', url, RIGHT),
    account('wrong', url),
    account('forbidden', await startUpstream(answers(403))),
    account('broken', await startUpstream(answers(500))),
    account('closed', await startUpstream(closes)),
    account('away', NOWHERE),
  ];
  expect(await checkCredentials({ accounts }, {})).toEqual([
    { account: 'right', outcome: 'accepted', reason: undefined },
    { account: 'wrong', outcome: 'refused', reason: 'it answered with status 401' },
    { account: 'forbidden', outcome: 'refused', reason: 'it answered with status 403' },
    { account: 'broken', outcome: 'unclear', reason: 'it answered with status 500' },
    {
      account: 'closed',
      outcome: 'unclear',
      reason: 'its response could not be received (UND_ERR_SOCKET)',
    },
    {
      account: 'away',
      outcome: 'unclear',
      reason: 'its response could not be received (ECONNREFUSED)',
    },
  ]);
});

it('logs an error for a refused credential and a warning for another failure, each with its account and variable', async () => {
  const { watch, lines } = newWatch();
  const url = await startUpstream(asks);
  watch.check({ accounts: [account('main', url), account('spare', NOWHERE)] });
  await eventually(async () => {
    expect(lines).toHaveLength(2);
  });
  expect(lines).toMatchObject([
    {
      level: 50,
      upstream_account: 'main',
      msg: 'UPSTREAMS: the key of account "main": the upstream refuses it (it answered with status 401), so requests will fail',
    },
    { level: 40, upstream_account: 'spare', msg: expect.stringMatching(/^UPSTREAMS: .*"spare"/) },
  ]);
  expect(JSON.stringify(lines)).not.toContain(WRONG);
  watch.check({ url, apiKey: WRONG });
  await eventually(async () => {
    expect(lines[2]).toMatchObject({
      level: 50,
      msg: expect.stringMatching(/^UPSTREAM_API_KEY: /),
    });
  });
});

it('reports the last check only, and none that was stopped', async () => {
  const { watch, lines } = newWatch();
  let arrived = (): void => undefined;
  const isAsked = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  watch.check({ url: await startUpstream(() => arrived()), apiKey: WRONG });
  await isAsked;
  watch.check({ url: await startUpstream(asks), apiKey: RIGHT });
  await eventually(async () => {
    expect(watch.latest()).toEqual([
      { account: undefined, outcome: 'accepted', reason: undefined, checkedAt: new Date(1_000) },
    ]);
  });
  expect(lines.map(({ level }) => level)).toEqual([20]);
});

it('a gateway with a wrong key serves, and its overview names the refusal', async () => {
  const gateway = await startTestGateway({ env: { UPSTREAM_API_KEY: WRONG } });
  cleanUps.push(() => gateway.stop());
  const credentials = async () =>
    (await gateway.call('showToday', {})).gateway?.upstream.credentials;
  expect(await credentials()).toEqual([]);
  gateway.running.checkCredentials();
  await eventually(async () => {
    expect(await credentials()).toMatchObject([
      { account: null, outcome: 'refused', reason: 'it answered with status 401' },
    ]);
  });
  const { apiKey } = await gateway.createKey();
  expect((await postMessages(gateway, apiKey, userMessage('Hello'))).status).toBe(502);
});

it('check-config says the answer for each upstream account, and fails only for a refused one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-check-'));
  cleanUps.push(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const url = await startUpstream(asks);
  const UPSTREAMS = join(folder, 'upstreams.json');
  const check = (accounts: readonly object[]) => {
    writeFileSync(UPSTREAMS, JSON.stringify({ accounts }));
    return gatewayCommand(['check-config'], { UPSTREAMS, DATA_DIR: join(folder, 'data') });
  };
  const right = { name: 'right', url, api_key: RIGHT };
  const usable = await check([right, { name: 'away', url: NOWHERE, api_key: WRONG }]);
  expect([usable.code, usable.err]).toEqual([0, '']);
  expect(usable.out).toContain('account "right": the upstream accepts it\n');
  expect(usable.out).toContain('account "away": the upstream did not say');
  const refused = await check([right, { name: 'wrong', url, api_key: WRONG }]);
  expect([refused.code, refused.err]).toEqual([
    2,
    expect.stringContaining('UPSTREAMS: the key of account "wrong": the upstream refuses it'),
  ]);
  expect(refused.out + refused.err + usable.out).not.toContain(WRONG);
  // Without an upstream there is nobody to ask.
  const simulated = await gatewayCommand(['check-config'], { DATA_DIR: join(folder, 'data') });
  expect([simulated.code, simulated.out]).toEqual([0, expect.stringContaining('SIMULATOR')]);
});
