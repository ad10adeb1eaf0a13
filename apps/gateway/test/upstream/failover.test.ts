/**
 * What fails at one of two upstream accounts, in each format. Each account has a server in front of
 * its simulator, as a proxy is. It can fail before or after the simulator has accepted the request.
 * The simulators say what the provider bills.
 */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ScriptedReply } from '@gateway/upstream-simulator';
import { UNCLEAR, startFaultyHome } from '../support/faulty-home.js';
import type { FaultyHome } from '../support/faulty-home.js';
import { MODEL, POSTS, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { eventually } from '../support/until.js';

const NAMES = ['a', 'b'] as const;
type Name = (typeof NAMES)[number];
const OTHER_MODEL = 'claude-haiku-4-5';
const THREE_DAYS = '259200';

const homes = {} as Record<Name, FaultyHome>;
let gateway: TestGateway;
let folder: string;
let starts = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-failover-'));
  for (const name of NAMES) homes[name] = await startFaultyHome(name);
  const file = join(folder, 'upstreams.json');
  // A reload reads the environment of the process again.
  process.env['UPSTREAMS'] = file;
  writeAccounts();
  gateway = await startTestGateway({
    env: { UPSTREAMS: file, UPSTREAM_URL: '', UPSTREAM_API_KEY: '' },
  });
});
afterAll(async () => {
  delete process.env['UPSTREAMS'];
  await gateway.stop();
  for (const name of NAMES) await homes[name].stop();
  rmSync(folder, { recursive: true, force: true });
});

function writeAccounts(more: object = {}, urls: Partial<Record<Name, string>> = {}): void {
  // After a reload, changed accounts are new ones, which have not failed yet.
  starts += 1;
  const accounts = NAMES.map((name) => {
    const url = urls[name] ?? homes[name].url;
    return { name, url, api_key: `key-of-${name}`, requests_per_minute: 1e6 + starts, ...more };
  });
  writeFileSync(join(folder, 'upstreams.json'), JSON.stringify({ accounts }));
}

interface Setup {
  readonly key: { readonly id: string; readonly apiKey: string };
  /** The account that the key stays with, and the other one. */
  readonly home: FaultyHome;
  readonly other: FaultyHome;
  readonly otherName: Name;
}

async function start(...accounts: Parameters<typeof writeAccounts>): Promise<Setup> {
  writeAccounts(...accounts);
  await gateway.running.reload();
  const key = await gateway.createKey();
  reset();
  expect((await ask({ key }, 'messages')).status).toBe(200);
  const homeName = (await answeredBy(key))[0] as Name;
  const otherName = homeName === 'a' ? 'b' : 'a';
  reset();
  return { key, home: homes[homeName], other: homes[otherName], otherName };
}

function reset(): void {
  for (const name of NAMES) {
    Object.assign(homes[name], { fault: undefined, asked: 0 });
    homes[name].simulator.reset();
  }
}

async function ask(
  { key }: Pick<Setup, 'key'>,
  dialect: keyof typeof POSTS,
  more: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly status: number; readonly headers: Headers; readonly text: string }> {
  const answer = await POSTS[dialect](gateway, key.apiKey, userMessage('Hello', more));
  const text = await answer.text().catch(() => '');
  return { status: answer.status, headers: answer.headers, text };
}

const billedBy = ({ simulator }: FaultyHome) => simulator.journal.billed().length;

/** The account that each charge of the key names, the newest first. */
async function answeredBy(key: Setup['key']): Promise<readonly unknown[]> {
  const { data } = await gateway.call('listLedger', { key_id: key.id, kind: 'charge' });
  return data.map((entry) => 'upstream_account' in entry && entry.upstream_account);
}

/** As {@link answeredBy}, without the first charge, which {@link start} caused. */
async function chargesOf({ key }: Setup): Promise<readonly unknown[]> {
  expect(await gateway.call('auditLedger', {})).toMatchObject({ is_sound: true, gap_usd: '0' });
  return (await answeredBy(key)).slice(0, -1);
}

/** Errors of the API itself, for which it bills nothing. */
const REFUSALS: Readonly<Record<string, ScriptedReply>> = {
  'is overloaded': { error: { type: 'overloaded_error' } },
  fails: { error: { type: 'api_error' } },
  'reports a timeout': { error: { type: 'timeout_error' } },
  'limits it': { error: { type: 'rate_limit_error' }, headers: { 'retry-after': '30' } },
};
const FIRST_EVENTS: Readonly<Record<string, ScriptedReply>> = {
  'begins its stream with an overload': {
    streamError: { afterEvents: 0, type: 'overloaded_error' },
  },
  'begins its stream with an error, in small pieces': {
    streamError: { afterEvents: 0, type: 'api_error' },
    splitBytes: 3,
  },
};

describe.each([
  ['messages', 'plain'],
  ['messages', 'streamed'],
  ['chat.completions', 'plain'],
  ['chat.completions', 'streamed'],
  ['responses', 'streamed'],
] as const)('a request for %s, %s, whose account', (dialect, form) => {
  const more = form === 'streamed' ? { stream: true } : {};

  it.each(Object.entries({ ...REFUSALS, ...(form === 'streamed' ? FIRST_EVENTS : {}) }))(
    '%s is served by the other one, and charged once for that',
    async (_what, reply) => {
      const setup = await start();
      const { home, other, otherName } = setup;
      home.simulator.script(reply);
      const { status, text } = await ask(setup, dialect, more);
      expect([status, text]).toEqual([200, expect.not.stringMatching(/"error":\{|event: error/)]);
      expect([home.asked, other.asked]).toEqual([1, 1]);
      expect([billedBy(home), billedBy(other)]).toEqual([0, 1]);
      expect(await chargesOf(setup)).toEqual([otherName]);
    },
  );

  it.each(Object.entries(UNCLEAR))(
    '%s gets an error, and the other one does not get the request',
    async (_what, fault) => {
      const setup = await start();
      const { home, other } = setup;
      home.fault = fault;
      expect([502, 504]).toContain((await ask(setup, dialect, more)).status);
      expect([home.asked, other.asked]).toEqual([1, 0]);
      expect([billedBy(home), billedBy(other)]).toEqual([1, 0]);
      expect(await chargesOf(setup)).toEqual([]);
    },
  );

  it.each(Object.entries(UNCLEAR))(
    '%s is served by the other one if the operator chose that; the customer pays once',
    async (_what, fault) => {
      const setup = await start({ unclear_failures: 'move' });
      const { home, other, otherName } = setup;
      home.fault = fault;
      expect((await ask(setup, dialect, more)).status).toBe(200);
      expect([billedBy(home), billedBy(other)]).toEqual([1, 1]);
      expect(await chargesOf(setup)).toEqual([otherName]);
    },
  );
});

describe('a streamed request', () => {
  it('stays with its account once its message has started', async () => {
    const setup = await start({ unclear_failures: 'move' });
    const { home, other } = setup;
    for (const reply of [
      { streamError: { afterEvents: 1, type: 'overloaded_error' } },
      { cut: { afterEvents: 1 } },
    ] as const satisfies readonly ScriptedReply[]) {
      home.simulator.script(reply);
      const { status, text } = await ask(setup, 'messages', { stream: true });
      expect([status, text]).toEqual([200, expect.stringMatching(/message_start[^]*event: error/)]);
    }
    expect([home.asked, other.asked]).toEqual([2, 0]);
    expect(await chargesOf(setup)).toEqual([]);
  });

  it('gets the error event as it came, if all accounts begin with one', async () => {
    const setup = await start();
    for (const name of NAMES)
      homes[name].simulator.script({
        streamError: { afterEvents: 0, type: 'overloaded_error', message: 'its own words' },
      });
    const { status, text } = await ask(setup, 'messages', { stream: true });
    expect([status, text]).toEqual([
      200,
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"its own words"}}\n\n',
    ]);
  });
});

it('a request whose account cannot be reached is served by the other one, which the entry names', async () => {
  const gone = createServer();
  await once(gone.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${String((gone.address() as AddressInfo).port)}`;
  gone.close();
  await start({}, { a: url });
  // Some of the keys have the account that is gone as their home.
  for (let n = 0; n < 8; n += 1) {
    const key = await gateway.createKey();
    expect((await ask({ key }, 'messages')).status).toBe(200);
    expect(await answeredBy(key)).toEqual(['b']);
  }
});

describe('a connection that was kept alive', () => {
  it('and was closed meanwhile is replaced, so that the request stays with its account', async () => {
    const setup = await start();
    const { home, other } = setup;
    for (let n = 1; n <= 3; n += 1) {
      home.closeConnections();
      expect((await ask(setup, 'messages')).status).toBe(200);
      expect([home.asked, other.asked]).toEqual([n, 0]);
    }
  });

  it('and is reset when the request arrives counts as one that accepted it', async () => {
    const setup = await start();
    const { home, other } = setup;
    home.fault = ({ req }) => {
      req.socket.resetAndDestroy();
    };
    expect((await ask(setup, 'messages')).status).toBe(502);
    expect([home.asked, other.asked]).toEqual([1, 0]);
  });
});

it('an account that is overloaded for one model serves the others', async () => {
  const setup = await start();
  const { home, other } = setup;
  home.simulator.scriptWhen((body) => body['model'] === MODEL, {
    error: { type: 'overloaded_error' },
  });
  for (let n = 0; n < 3; n += 1) expect((await ask(setup, 'messages')).status).toBe(200);
  expect([home.asked, other.asked]).toEqual([1, 3]);
  expect((await ask(setup, 'messages', { model: OTHER_MODEL })).status).toBe(200);
  expect([home.asked, other.asked]).toEqual([2, 3]);
});

it('an account that limits one model serves the others', async () => {
  const setup = await start();
  const { home, other } = setup;
  home.simulator.scriptWhen((body) => body['model'] === MODEL, {
    error: { type: 'rate_limit_error' },
    headers: { 'retry-after': '30' },
  });
  for (const [model, asked] of [
    [MODEL, [1, 1]],
    [MODEL, [1, 2]],
    [OTHER_MODEL, [2, 2]],
  ] as const) {
    expect((await ask(setup, 'messages', { model })).status).toBe(200);
    expect([home.asked, other.asked]).toEqual(asked);
  }
});

it('if all accounts limit a request for three days, the client gets a 429 with that time, and the operator one event', async () => {
  for (const dialect of ['messages', 'chat.completions', 'responses'] as const) {
    const setup = await start();
    for (const name of NAMES)
      homes[name].simulator.scriptWhen(() => true, {
        error: { type: 'rate_limit_error', message: 'org-secret: 40 per day' },
        headers: { 'retry-after': THREE_DAYS },
      });
    for (const stream of [false, true]) {
      const { status, headers, text } = await ask(setup, dialect, { stream });
      expect([status, headers.get('x-should-retry')]).toEqual([429, 'false']);
      // The second is not sent, and a moment has passed.
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(Number(THREE_DAYS) - 60);
      expect(JSON.parse(text).error.type).toBe('rate_limit_error');
      expect(text).not.toContain('org-secret');
    }
    expect([homes.a.asked, homes.b.asked]).toEqual([1, 1]);
    expect(await chargesOf(setup)).toEqual([]);
  }
  await eventually(async () => {
    const { data } = await gateway.call('listEvents', { type: 'upstream.limited' });
    expect(data.map((event) => event.data)).toEqual([
      {
        fault: 'the upstream limits this request on all its accounts',
        retry_after_seconds: THREE_DAYS,
      },
    ]);
  });
});
