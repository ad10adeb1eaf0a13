/** `farthing ledger archive` and `verify-archive` while the built gateway runs, on both ledgers. */

import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import type { UpstreamSimulator } from '@gateway/upstream-simulator';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { ageLedger } from '../../../../packages/balance-store/test/rewrite-ledger.js';
import type { LedgerPlace } from '../../../../packages/balance-store/test/rewrite-ledger.js';
import { postMessages, userMessage } from '../support/gateway.js';
import { gatewayCommand, spawnGateway } from '../support/gateway-process.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { waitUntilSteady } from '../support/steady-time.js';

const UPSTREAM_KEY = 'upstream-credential-canary';
const ADMIN_TOKEN = 'admin-token-of-the-tests';
const DAY_MS = 86_400_000;
const AGE_DAYS = 40;
waitUntilSteady('day');
const until = new Date((Math.floor(Date.now() / DAY_MS) - 10) * DAY_MS);
const day = until.toISOString().slice(0, 10);

let simulator: UpstreamSimulator;
let server: PostgresServer;
let directory: string;
const running: GatewayProcess[] = [];
beforeAll(async () => {
  simulator = await startUpstreamSimulator({ apiKey: UPSTREAM_KEY });
  server = await usePostgresServer();
  directory = mkdtempSync(join(tmpdir(), 'gateway-archive-'));
});
afterEach(() => {
  for (const gateway of running.splice(0)) gateway.send('SIGKILL');
});
afterAll(async () => {
  await simulator.close();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

interface Ledger {
  readonly env: Readonly<Record<string, string>>;
  readonly place: LedgerPlace;
}

const ledgers: Readonly<Record<string, () => Promise<Ledger>>> = {
  embedded() {
    const dataDir = join(directory, 'embedded');
    return Promise.resolve({ env: { DATA_DIR: dataDir, ADMIN_TOKEN }, place: { dataDir } });
  },
  async postgres() {
    const databaseUrl = await server.createDatabase();
    return {
      env: {
        DATA_DIR: join(directory, 'postgres'),
        DATABASE_URL: databaseUrl,
        KEY_PEPPER: 'pepper of the tests of the archive',
        ADMIN_TOKEN,
      },
      place: { databaseUrl },
    };
  },
};

describe.each(['embedded', 'postgres'])('farthing ledger archive: %s', (kind) => {
  // F123: a record of an archived charge is booked again: refused if its time is missing, or
  // earlier than ten minutes after the archive's end.
  // F475
  it('moves old charges into a file while the gateway runs; later responses state up to when charges are archived', async () => {
    const { env, place } = await ledgers[kind]!();
    const serving = { ...env, UPSTREAM_URL: simulator.url, UPSTREAM_API_KEY: UPSTREAM_KEY };
    const file = join(directory, `${kind}.jsonl`);
    const cli = (args: readonly string[], extra: Readonly<Record<string, string>> = {}) =>
      gatewayCommand(args, { ...env, ...extra });
    const json = async (...args: readonly string[]) => {
      const { out, err } = await cli([...args, '--json']);
      if (out === '') throw new Error(err);
      return JSON.parse(out);
    };

    const serve = async () => {
      const started = await spawnGateway(serving);
      running.push(started);
      return started;
    };
    const first = await serve();
    const created = await json('keys', 'create', '--name', 'k', '--balance', '5');
    const ids: string[] = [];
    const ask = async (url: string) => {
      const response = await postMessages({ url }, created.api_key, userMessage('Hello'));
      expect(response.status).toBe(200);
      ids.push(response.headers.get('x-gateway-request-id') ?? '');
      await response.text();
    };
    for (let count = 0; count < 5; count += 1) await ask(first.url);
    first.send('SIGTERM');
    await first.exited;
    await ageLedger(place, AGE_DAYS);
    const gateway = await serve();
    await ask(gateway.url);
    const account = created.account_id as string;
    const month = new Date(Date.now() - AGE_DAYS * DAY_MS).toISOString().slice(0, 7);
    const statement = ['accounts', 'statement', account, month];
    const before = await json(...statement);
    expect(before.charges.length).toBeGreaterThan(0);

    // An archive that cannot be made is refused, and nothing is written.
    const archive = ['ledger', 'archive', '--to', file, '--until'];
    for (const day of ['yesterday', '2026-06-31']) {
      expect(await cli([...archive, day])).toMatchObject({
        code: 2,
        err: expect.stringContaining('must be a day'),
      });
    }
    const today = new Date().toISOString().slice(0, 10);
    expect(await cli([...archive, today])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^farthing: --until: must be at least 3 days ago\n$/),
    });
    expect(await cli([...archive, day], { ADMIN_URL: gateway.adminUrl })).toMatchObject({
      code: 2,
      err: expect.stringContaining('ADMIN_URL: must not be set'),
    });
    expect(existsSync(file)).toBe(false);

    const made = await json(...archive, day);
    expect(made).toMatchObject({ number: 1, until: until.toISOString(), charges: 5, deleted: 5 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await cli([...archive, day])).out).toContain('deleted now        0');
    const proved = await cli(['ledger', 'verify-archive', file]);
    expect([proved.code, proved.out]).toEqual([
      0,
      expect.stringContaining('The file is sound, and it belongs to this ledger.'),
    ]);
    const alone = await cli(['ledger', 'verify-archive', file, '--alone']);
    expect(alone.out).toContain('The file is sound by itself.');

    await ask(gateway.url);
    expect(await json('ledger', 'audit')).toMatchObject({ is_sound: true, archived: 5 });
    expect(await json(...statement)).toEqual(before);
    const listed = await json('ledger', 'list', '--account', account);
    expect(listed).toMatchObject({ archived_until: until.toISOString() });
    expect(listed.data).toHaveLength(3);
    expect((await cli(['ledger', 'list'])).out).toContain(
      `Charges before ${until.toISOString()} are archived.`,
    );
    const read = (path: string) =>
      fetch(`${gateway.url}/v1/dashboard/usage${path}`, {
        headers: { authorization: `Bearer ${String(created.api_key)}` },
      });
    expect(await (await read('')).json()).toMatchObject({ archived_until: until.toISOString() });
    const csv = await read('?format=csv');
    expect(csv.headers.get('x-gateway-archived-until')).toBe(until.toISOString());
    const asked = `${gateway.adminUrl}/admin/ledger?format=csv`;
    const ofOperator = await fetch(asked, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    expect(ofOperator.headers.get('x-gateway-archived-until')).toBe(until.toISOString());
    const lacks = `charges before ${until.toISOString()} are archived`;
    expect(await cli(['ledger', 'list', '--csv'])).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(new RegExp(`^farthing: --from: ${lacks}, so the CSV would`)),
    });
    const later = await cli(['ledger', 'list', '--csv', '--from', day]);
    expect([later.code, later.err, later.out.split('\r\n').length]).toEqual([0, '', 4]);
    expect(await cli(['ledger', 'list', '--csv', '--limit', '9'])).toMatchObject({
      code: 0,
      err: `Charges before ${until.toISOString()} are archived.\n`,
    });
    const gone = await read(`/${String(ids[0])}`);
    expect([gone.status, await gone.text()]).toEqual([
      404,
      expect.stringContaining(`; charges before ${until.toISOString()} are archived`),
    ]);

    // A record that may belong to an archived charge is refused: one without a time, or with a time
    // less than ten minutes after the archive's end.
    const [archived = ''] = ids;
    const usageOf = (request_id: string, more: object) =>
      JSON.stringify({
        request_id,
        key_id: created.id,
        model: 'claude-sonnet-4-6',
        usage: { input_tokens: 10, output_tokens: 10 },
        ...more,
      });
    const witness = join(directory, `${kind}-witness.jsonl`);
    writeFileSync(witness, usageOf(archived, {}));
    expect(
      await json('ledger', 'recharge', '--witness', witness, '--key', created.id),
    ).toMatchObject({
      booked: 0,
      refused: [
        { request_id: archived, reason: expect.stringMatching(/^at: is missing; charges before/) },
      ],
    });
    const recharge = async (request_id: string, at: number) => {
      const response = await fetch(`${gateway.adminUrl}/admin/ledger/recharge`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          charges: [
            {
              request_id,
              key_id: created.id,
              model: 'claude-sonnet-4-6',
              input_tokens: 10,
              output_tokens: 10,
              cache_read_input_tokens: 0,
              cache_creation_input_tokens: 0,
              at: new Date(at).toISOString(),
            },
          ],
        }),
      });
      return (await response.json()) as object;
    };
    const end = until.getTime();
    expect(await recharge(archived, end + 599_999)).toMatchObject({
      booked: 0,
      refused: [{ reason: expect.stringMatching(/^at: charges before .* are archived/) }],
    });
    expect(await recharge('req_lost', end + 600_000)).toMatchObject({ booked: 1, refused: [] });
    writeFileSync(witness, usageOf(archived, {}));
    const compared = await json('ledger', 'audit', '--witness', witness);
    expect(compared.witness.differences).toMatchObject([
      { found: `no charge; those before ${until.toISOString()} are archived` },
    ]);

    gateway.send('SIGTERM');
    expect(await gateway.exited).toBe(0);
    expect(await json('ledger', 'audit')).toMatchObject({ is_sound: true, archived: 5 });
  });
});
