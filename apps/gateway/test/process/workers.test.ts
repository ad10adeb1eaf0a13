/**
 * Several processes behind one port: limits and money do not depend on the process that answers, a
 * process that dies is replaced, and every usage that clients received is in the ledger. Runs on
 * the embedded default and on servers. A start costs three seconds of CPU time, so the tests of a
 * ledger share their gateway where they can.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { startRedisServer } from '../../../../packages/rate-limiter/test/redis-server.js';
import type { RedisServer } from '../../../../packages/rate-limiter/test/redis-server.js';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import type { CallOperation, OperationInput } from '../../src/operator/operations/operations.js';
import { startGatedUpstream } from '../support/gated-upstream.js';
import type { GatedUpstream } from '../support/gated-upstream.js';
import { spawnGateway } from '../support/gateway-process.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { postMessages, postResponses, userMessage } from '../support/gateway.js';
import { connectTo } from '../support/raw-client.js';
import { openRedisLink } from '../support/redis-link.js';
import type { RedisLink } from '../support/redis-link.js';
import { startClients } from '../support/restless-clients.js';
import type { Outcome } from '../support/restless-clients.js';
import { until } from '../support/until.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';
/** Allows so much output that with OVERDRAFT=none the hold covers every charge. */
const BODY = userMessage('Hello', { stream: true, max_tokens: 10_000 });

let upstream: GatedUpstream;
/**
 * Of the gateways without overdraft. Each response has a larger usage than the one before: after
 * the thousands that other tests cause, a charge would exceed its hold.
 */
let youngUpstream: GatedUpstream;
const running = new Set<Gateway>();
const dataDirs = new Set<string>();

beforeAll(async () => {
  [upstream, youngUpstream] = await Promise.all([startGatedUpstream(), startGatedUpstream()]);
});
afterEach(() => {
  upstream.open();
  youngUpstream.open();
});
afterAll(async () => {
  await killAll();
  await Promise.all([upstream.close(), youngUpstream.close()]);
  for (const dataDir of dataDirs) rmSync(dataDir, { recursive: true, force: true });
});

type Env = Readonly<Record<string, string>>;

const noOverdraft = (): Env => ({ OVERDRAFT: 'none', UPSTREAM_URL: youngUpstream.url });
const STRICT_UPLOADS: Env = { UPLOAD_MAX_S: '1' };

interface Gateway extends GatewayProcess {
  readonly call: CallOperation;
}

async function start(env: Env): Promise<Gateway> {
  const started = await spawnGateway({
    WORKERS: '2',
    ADMIN_TOKEN,
    UPSTREAM_URL: upstream.url,
    UPSTREAM_API_KEY: 'upstream-key',
    ...env,
  });
  const call = createRemoteCaller({ url: started.adminUrl, token: ADMIN_TOKEN });
  const gateway = { ...started, call };
  running.add(gateway);
  void gateway.exited.then(() => running.delete(gateway));
  return gateway;
}

async function killAll(): Promise<void> {
  for (const gateway of running) {
    gateway.send('SIGKILL');
    await gateway.exited;
  }
}

/**
 * Gateways on one ledger, one after the other. A test gets the gateway of the test before, unless
 * that has ended or the test needs other settings.
 *
 * @param environment - called once, before the first start
 */
function gatewaysOf(environment: () => Env | Promise<Env>) {
  let ledger: Env | undefined;
  let current: { readonly gateway: Gateway; readonly settings: string } | undefined;
  /** @returns the running gateway if it has exactly these settings, else a new one */
  return async (settings: Env = {}): Promise<Gateway> => {
    ledger ??= await environment();
    const wanted = JSON.stringify(settings);
    const isRunning = current !== undefined && running.has(current.gateway);
    if (current !== undefined && isRunning && current.settings === wanted) {
      // The test before may have ended a worker, which is replaced meanwhile.
      const { gateway } = current;
      await until(async () => (await byWorker(gateway, 'gateway_requests_running')).size === 2);
      return gateway;
    }
    if (current !== undefined && isRunning) {
      current.gateway.send('SIGTERM');
      expect(await current.gateway.exited).toBe(0);
    }
    current = { gateway: await start({ ...ledger, ...settings }), settings: wanted };
    return current.gateway;
  };
}

/** @returns how often its log has this text from now on */
function occurrences(gateway: GatewayProcess, text: string): () => number {
  const begin = gateway.output().length;
  return () => gateway.output().slice(begin).split(text).length - 1;
}

async function newKey(
  { call }: { readonly call: CallOperation },
  limits: Partial<OperationInput<'createKey'>> = {},
): Promise<{ readonly id: string; readonly api_key: string }> {
  const generous = { concurrency: 100, burst: 10_000, requests_per_minute: 1_000_000 };
  const key = await call('createKey', {
    name: 'test',
    balance_usd: '1000000',
    ...generous,
    ...limits,
  });
  return { id: key.id, api_key: key.api_key ?? '' };
}

/** Process ids of the workers: the children of the process that was started. */
function workersOf({ pid }: GatewayProcess): readonly number[] {
  const children = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8');
  return children.trim().split(/\s+/).filter(Boolean).map(Number);
}

/** Values of a metric, by worker. */
async function byWorker(
  { adminUrl }: GatewayProcess,
  metric: string,
): Promise<Map<string, number>> {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  const lines = metrics.split('\n').filter((line) => line.startsWith(metric));
  return new Map(
    lines.flatMap((line) => {
      const [, worker, value] = /worker="(\d+)".* (\d+)$/.exec(line) ?? [];
      return worker === undefined ? [] : [[worker, Number(value)] as const];
    }),
  );
}

/** @returns by how much the metric of each worker has grown since, without those that have not */
async function growthOf(
  gateway: GatewayProcess,
  metric: string,
): Promise<() => Promise<readonly number[]>> {
  const before = await byWorker(gateway, metric);
  return async () =>
    [...(await byWorker(gateway, metric))]
      .map(([worker, value]) => value - (before.get(worker) ?? 0))
      .filter((growth) => growth > 0);
}

const answered = (status: number): string =>
  `gateway_requests_total{endpoint="messages",status="${String(status)}"`;

/** A stream whose beginning the client has received. */
interface Watched {
  readonly status: number;
  /** The error message, if the request was refused. */
  readonly message?: string | undefined;
  /** Resolves when the stream is over, with the final usage that the client received. */
  readonly usage: Promise<readonly [requestId: string, usage: object] | undefined>;
}

async function openStream(gateway: GatewayProcess, apiKey: string): Promise<Watched> {
  const response = await postMessages(gateway, apiKey, BODY);
  const { status } = response;
  if (status !== 200) {
    const { error } = (await response.json()) as { readonly error: { readonly message: string } };
    return { status, message: error.message, usage: Promise.resolve(undefined) };
  }
  const requestId = response.headers.get('x-gateway-request-id')!;
  const usage = response.text().then(
    (text) => {
      const event = /^data: (\{"type":"message_delta".*)$/m.exec(text);
      return event === null ? undefined : ([requestId, JSON.parse(event[1]!).usage] as const);
    },
    () => undefined,
  );
  return { status, usage };
}

function openStreams(gateway: GatewayProcess, apiKey: string, count: number): Promise<Watched[]> {
  return Promise.all(Array.from({ length: count }, () => openStream(gateway, apiKey)));
}

/**
 * Opens streams of a new key until each worker has some. The kernel chooses the worker that
 * accepts.
 */
async function openStreamsOnAll(gateway: Gateway, count: number) {
  for (;;) {
    upstream.shut();
    const key = await newKey(gateway, { concurrency: count });
    const streams = await openStreams(gateway, key.api_key, count);
    const running = [...(await byWorker(gateway, 'gateway_requests_running')).values()];
    if (running.filter((n) => n > 0).length === 2) return { key, streams, running };
    upstream.open();
    await usagesOf(streams);
  }
}

async function usagesOf(streams: readonly Watched[]) {
  const usages = await Promise.all(streams.map(({ usage }) => usage));
  return usages.filter((usage) => usage !== undefined);
}

/**
 * Expects that every usage that clients received was charged and nothing else was, and that the
 * audit finds the ledger sound.
 */
async function expectCharged(
  { call }: { readonly call: CallOperation },
  keyId: string,
  seen: readonly (readonly [requestId: string, usage: object])[],
): Promise<void> {
  const { data } = await call('listLedger', { key_id: keyId, kind: 'charge', limit: 1000 });
  const charged = new Map(data.map((entry) => [entry.id, 'usage' in entry && entry.usage]));
  expect(charged.size).toBe(seen.length);
  for (const [requestId, usage] of seen) expect(charged.get(requestId)).toMatchObject(usage);
  // A worker sends the cost of a charge to the process that keeps the ledger.
  expect(data.filter((entry) => !('cost_usd' in entry))).toEqual([]);
  expect(await call('auditLedger', {})).toMatchObject({ is_sound: true, gap_usd: '0' });
}

function count(streams: readonly Watched[], status: number): number {
  return streams.filter((stream) => stream.status === status).length;
}

function newDataDir(): Env {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-workers-'));
  dataDirs.add(dataDir);
  return { DATA_DIR: dataDir };
}

/** Declares the tests that run on the embedded ledger and on PostgreSQL and Redis. */
function describeWorkers(gatewayWith: ReturnType<typeof gatewaysOf>): void {
  it('count the limits of a key together, not per worker', async () => {
    const gateway = await gatewayWith();
    const refusedByEach = await growthOf(gateway, answered(429));
    let refusals = 0;
    // Repeats until both workers have refused some.
    for (let refused: readonly number[] = []; refused.length < 2;) {
      const key = await newKey(gateway, { concurrency: 5 });
      upstream.shut();
      const streams = await openStreams(gateway, key.api_key, 24);
      expect([count(streams, 200), count(streams, 429)]).toEqual([5, 19]);
      upstream.open();
      const seen = await usagesOf(streams);
      expect(seen).toHaveLength(5);
      await expectCharged(gateway, key.id, seen);

      const bursting = await newKey(gateway, { burst: 7, requests_per_minute: 1 });
      const burst = await openStreams(gateway, bursting.api_key, 20);
      expect([count(burst, 200), count(burst, 429)]).toEqual([7, 13]);
      await usagesOf(burst);
      refusals += 19 + 13;
      refused = await refusedByEach();
      expect(refused.reduce((sum, n) => sum + n, 0)).toBe(refusals);
    }
  });

  it('keep responses together: each continues those of the others', async () => {
    const gateway = await gatewayWith();
    const { api_key: apiKey } = await newKey(gateway);
    const stream = await postResponses(gateway, apiKey, BODY);
    const id = /"id":"(resp_[^"]+)"/.exec(await stream.text())?.[1] ?? '';
    const continued = { ...BODY, previous_response_id: id };
    const metric = 'gateway_requests_total{endpoint="responses",status="200"';
    const servedByEach = await growthOf(gateway, metric);
    // Repeats until both workers have continued the response.
    for (let served: readonly number[] = []; served.length < 2 || Math.min(...served) < 2;) {
      const requests = Array.from({ length: 12 }, () => postResponses(gateway, apiKey, continued));
      for (const response of await Promise.all(requests)) {
        expect(await response.text()).toContain(`"previous_response_id":"${id}"`);
      }
      served = await servedByEach();
    }
  });

  it('that are killed are replaced; only their own streams are cut off, and these are not charged', async () => {
    const gateway = await gatewayWith();
    const { key, streams, running } = await openStreamsOnAll(gateway, 12);
    const replaced = occurrences(gateway, 'worker replaced');
    const [victim, survivor] = workersOf(gateway);
    process.kill(victim!, 'SIGKILL');
    await until(() => workersOf(gateway).filter((pid) => pid !== survivor).length === 1);
    await until(() => replaced() === 1);
    upstream.open();
    const seen = await usagesOf(streams);
    expect(running).toContain(seen.length);
    const later = await openStreams(gateway, key.api_key, 12 - running[0]!);
    expect(count(later, 200)).toBe(12 - running[0]!);
    seen.push(...(await usagesOf(later)));
    await expectCharged(gateway, key.id, seen);
  });

  it('that get SIGTERM finish their streams first, and are replaced', async () => {
    const gateway = await gatewayWith();
    const { key, streams } = await openStreamsOnAll(gateway, 12);
    const replaced = occurrences(gateway, 'worker replaced');
    const [leaving, staying] = workersOf(gateway);
    process.kill(leaving!, 'SIGTERM');
    upstream.open();
    const seen = await usagesOf(streams);
    expect(seen).toHaveLength(12);
    await until(() => replaced() === 1);
    expect(workersOf(gateway)).toContain(staying);
    expect(workersOf(gateway)).not.toContain(leaving);
    await expectCharged(gateway, key.id, seen);
  });

  it.each<[string, NodeJS.Signals, readonly Outcome[]]>([
    ['terminated one after the other interrupt no request', 'SIGTERM', [200]],
    [
      'killed one after the other leave no client waiting for an answer',
      'SIGKILL',
      [200, 'cut', 'refused', 'lost'],
    ],
  ])('that are %s', async (_, signal, known) => {
    const gateway = await gatewayWith();
    const key = await newKey(gateway);
    const clients = startClients(gateway.url, key.api_key, { staying: 8, coming: 8, pauseMs: 20 });
    for (const worker of workersOf(gateway)) {
      process.kill(worker, signal);
      await until(async () => {
        const numbers = await byWorker(gateway, answered(200));
        return !workersOf(gateway).includes(worker) && numbers.size === 2;
      });
    }
    await clients.stop();
    // The connection to Redis was open before the first request.
    expect(gateway.output()).not.toContain("isn't writeable");
    expect([...clients.outcomes.keys()].filter((outcome) => !known.includes(outcome))).toEqual([]);
    expect(await gateway.call('auditLedger', {})).toMatchObject({ is_sound: true, gap_usd: '0' });
  });

  it('that replace others get a share of the long-lived connections', async () => {
    const gateway = await gatewayWith();
    const key = await newKey(gateway);
    const clients = startClients(gateway.url, key.api_key, { staying: 8, coming: 0, pauseMs: 20 });
    await until(() => clients.outcomes.has(200));
    const [leaving] = workersOf(gateway);
    process.kill(leaving!, 'SIGTERM');
    await until(() => !workersOf(gateway).includes(leaving!));
    await until(async () => (await byWorker(gateway, answered(200))).size === 2);
    await clients.stop();
    expect([...clients.outcomes.keys()]).toEqual([200]);
  });

  it('finish all requests when the gateway gets SIGTERM, and it exits with status 0', async () => {
    const gateway = await gatewayWith();
    const key = await newKey(gateway);
    upstream.shut();
    const streams = await openStreams(gateway, key.api_key, 12);
    gateway.send('SIGTERM');
    await until(() => gateway.output().includes('draining'));
    upstream.open();
    const seen = await usagesOf(streams);
    expect(seen).toHaveLength(12);
    expect(await gateway.exited).toBe(0);
    await expectCharged(await gatewayWith(noOverdraft()), key.id, seen);
  });

  it('let no balance fall below zero with OVERDRAFT=none, whichever of them place the holds', async () => {
    const gateway = await gatewayWith(noOverdraft());
    const key = await newKey(gateway, { balance_usd: '1' });
    for (let round = 0; round < 10; round += 1) {
      const streams = await openStreams(gateway, key.api_key, 20);
      expect(streams.filter(({ status }) => status !== 200 && status !== 402)).toEqual([]);
      await usagesOf(streams);
    }
    const { balance_usd } = await gateway.call('showKey', { key_id: key.id });
    expect(Number(balance_usd)).toBeGreaterThanOrEqual(0);
    expect(Number(balance_usd)).toBeLessThan(1);
    expect(await gateway.call('auditLedger', {})).toMatchObject({ is_sound: true, gap_usd: '0' });
  });

  it('let requests of a named member wait for room in his budget, and none pass it', async () => {
    const gateway = await gatewayWith(noOverdraft());
    const key = await newKey(gateway, { names_members: { unknown: 'create' } });
    const { account_id } = await gateway.call('showKey', { key_id: key.id });
    const each = { account_id, name: 'each', scope: 'member', period: 'month' } as const;
    const { id: budget_id } = await gateway.call('createBudget', { ...each, amount_usd: '0.0001' });
    const ask = async (member: string) => {
      const headers = { 'x-gateway-member': member };
      const response = await postMessages(gateway, key.api_key, BODY, headers);
      const retry = response.headers.get('x-should-retry');
      return { status: response.status, retry, text: await response.text() };
    };
    const { status, text } = await ask('nobody');
    const [, hold = ''] = /this request may cost up to ([\d.]+) USD/.exec(text) ?? [];
    expect([status, text]).toEqual([402, expect.stringContaining('may cost up to')]);
    const amount = (parseUsd(hold) * 3n) / 2n;
    await gateway.call('updateBudget', { budget_id, amount_usd: formatUsd(amount) });
    const servedByEach = await growthOf(gateway, answered(200));
    let members = 0;
    // Repeats until both workers have served some.
    for (let served: readonly number[] = []; served.length < 2; members += 2) {
      const names = ['ada', 'bob'].map((name) => `${name}-${String(members)}`);
      youngUpstream.shut();
      const asked = Array.from({ length: 12 }, async (_, n) => {
        for (;;) {
          const answer = await ask(names[n % 2] ?? '');
          if (answer.status === 200) return;
          // On a busy machine, it may have waited as long as it may.
          expect([answer.text, answer.retry]).toEqual([expect.stringContaining('wait'), 'true']);
        }
      });
      // One of each member: a second hold does not fit.
      await until(() => youngUpstream.waiting() === 2);
      youngUpstream.open();
      await Promise.all(asked);
      served = await servedByEach();
    }
    const { uses } = await gateway.call('showBudget', { budget_id });
    expect(uses.filter(({ used_usd: used }) => used !== '0')).toHaveLength(members);
    const used = uses.map(({ used_usd: usd }) => parseUsd(usd));
    expect(used.filter((units) => units > amount)).toEqual([]);
    const { spent_usd: spent } = await gateway.call('showKey', { key_id: key.id });
    expect(formatUsd(used.reduce((sum, units) => sum + units, 0n))).toBe(spent);
    expect(await gateway.call('auditLedger', {})).toMatchObject({ is_sound: true, gap_usd: '0' });
  });

  it('end when the primary is killed, and no usage that clients received is lost', async () => {
    const gateway = await gatewayWith(noOverdraft());
    const key = await newKey(gateway);
    const workers = workersOf(gateway);
    const seen: (readonly [string, object])[] = [];
    const clients = Array.from({ length: 8 }, async () => {
      for (;;) seen.push(...(await usagesOf([await openStream(gateway, key.api_key)])));
    });
    await until(() => seen.length > 100);
    gateway.send('SIGKILL');
    await Promise.allSettled(clients);
    await until(() => !workers.some(isAlive));
    // `gatewayWith` must not take it for a gateway that still runs.
    await gateway.exited;

    const again = await gatewayWith(STRICT_UPLOADS);
    const { data } = await again.call('listLedger', {
      key_id: key.id,
      kind: 'charge',
      limit: 1000,
    });
    // The last answers may have been charged without reaching the client.
    const ids = new Set(data.map(({ id }) => id));
    expect(seen.filter(([id]) => !ids.has(id))).toEqual([]);
    expect(ids.size - seen.length).toBeLessThanOrEqual(8);
    expect(await again.call('auditLedger', {})).toMatchObject({ is_sound: true, gap_usd: '0' });
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('workers on the embedded default', () => {
  const gatewayWith = gatewaysOf(newDataDir);
  describeWorkers(gatewayWith);

  it('that are killed free their leases at once', async () => {
    const gateway = await gatewayWith(STRICT_UPLOADS);
    const { key, streams } = await openStreamsOnAll(gateway, 12);
    const ended = occurrences(gateway, 'worker ended');
    process.kill(workersOf(gateway)[0]!, 'SIGKILL');
    await until(() => ended() === 1);
    const later = await openStreams(gateway, key.api_key, 12);
    upstream.open();
    const whole = (await usagesOf(streams)).length;
    expect(whole).toBeLessThan(12);
    expect(count(later, 200)).toBe(12 - whole);
    await usagesOf(later);
  });

  // F208
  it('refuse uploads that take longer than the setting', async () => {
    const gateway = await gatewayWith(STRICT_UPLOADS);
    const refused = occurrences(gateway, '"status":408');
    const { api_key } = await newKey(gateway);
    const head = [
      'POST /v1/responses HTTP/1.1',
      'Host: gateway',
      `Authorization: Bearer ${api_key}`,
      'Content-Type: application/json',
      'Content-Length: 1000',
      '',
      '{',
    ];
    // More than one worker is likely to get some of them.
    const answers = Array.from({ length: 8 }, async () => {
      const client = connectTo(gateway);
      client.send(head.join('\r\n'));
      await client.receive(/\}$/);
      client.socket.destroy();
      return client.received();
    });
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatch(/^HTTP\/1.1 408 [^]*"type":"timeout_error"[^]*"code":null/);
    }
    await until(() => refused() === 8);
  });

  // F346: a holder changes what an operator has bounded, with workers on the embedded ledger: 403
  // `set_by_operator`, as without.
  it('refuse what an operator decided about a key as one process does', async () => {
    const gateway = await gatewayWith(STRICT_UPLOADS);
    const manager = await gateway.call('createKey', { name: 'lead', scope: 'manage' });
    const { account_id } = manager;
    const member = await gateway.call('createKey', { name: 'member', account_id });
    await gateway.call('suspendKey', { key_id: member.id });
    const response = await fetch(`${gateway.url}/v1/dashboard/keys/${member.id}/resume`, {
      method: 'POST',
      headers: { authorization: `Bearer ${manager.api_key ?? ''}` },
    });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ error: { code: 'set_by_operator' } });
  });

  it('write whole lines to one log', async () => {
    const gateway = await gatewayWith(STRICT_UPLOADS);
    const begin = gateway.output().lastIndexOf('\n') + 1;
    const key = await newKey(gateway);
    const clients = Array.from({ length: 16 }, async () => {
      for (let i = 0; i < 10; i += 1) await (await openStream(gateway, key.api_key)).usage;
    });
    await Promise.all(clients);
    gateway.send('SIGTERM');
    await gateway.exited;
    const lines = gateway.output().slice(begin).trim().split('\n');
    const parsed = lines.map((line) => JSON.parse(line));
    const requests = parsed.filter(({ msg, key_id: id }) => msg === 'request' && id === key.id);
    expect(requests).toHaveLength(16 * 10);
  });
});

describe('workers on PostgreSQL and Redis', () => {
  let postgres: PostgresServer;
  let redis: RedisServer;
  let redisLink: RedisLink;
  beforeAll(async () => {
    postgres = await usePostgresServer();
    redis = await startRedisServer();
    redisLink = await openRedisLink(redis);
  });
  afterAll(async () => {
    await redisLink.close();
    await redis.stop();
    await postgres.stop();
  });

  const environment = async (): Promise<Env> => ({
    DATABASE_URL: await postgres.createDatabase(),
    REDIS_URL: redisLink.url,
    // A busy machine must not be taken for a Redis that is down.
    REDIS_TIMEOUT_MS: '5000',
    KEY_PEPPER: 'pepper of the tests of workers',
  });
  const gatewayWith = gatewaysOf(environment);
  describeWorkers(gatewayWith);

  it('complete and charge their streams after the primary was killed', async () => {
    const gateway = await gatewayWith(STRICT_UPLOADS);
    const key = await newKey(gateway);
    const workers = workersOf(gateway);
    upstream.shut();
    const streams = await openStreams(gateway, key.api_key, 12);
    gateway.send('SIGKILL');
    await until(() => !isAlive(gateway.pid));
    upstream.open();
    const seen = await usagesOf(streams);
    expect(seen).toHaveLength(12);
    await until(() => !workers.some(isAlive));
    // `gatewayWith` must not take it for a gateway that still runs.
    await gateway.exited;
    await expectCharged(await gatewayWith(STRICT_UPLOADS), key.id, seen);
  });
});

describe.each([['1'], ['2']])('WORKERS=%s', (workers) => {
  it('ends with an error that says what to type when a port is taken', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const port = String((other.address() as AddressInfo).port);
    const env = { ...newDataDir(), WORKERS: workers, PORT: port };
    await expect(start(env)).rejects.toThrow(
      /^ *PORT: cannot listen .*EADDRINUSE.*: PORT=\d+ npm start$/m,
    );
    await expect(start({ ...env, PORT: '0', ADMIN_PORT: port })).rejects.toThrow(
      /^ *ADMIN_PORT: cannot listen .*: ADMIN_PORT=\d+ npm start$/m,
    );
    // The failed gateway has closed everything it had opened, so the next one can start.
    await start({ ...env, PORT: '0' });
    await new Promise((resolve) => other.close(resolve));
  });
});
