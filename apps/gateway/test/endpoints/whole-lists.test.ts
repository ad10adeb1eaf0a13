/** Lists as CSV: the whole of them, over the API and by the command line, on both ledgers. */

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { BalanceStore } from '@gateway/balance-store';
import { settlement } from '@gateway/balance-store/testing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { requestRecord } from '../../../../packages/balance-store/src/testing/samples.js';
import { commandProcess, gatewayCommand } from '../support/gateway-process.js';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ledgerEnv } from '../support/ledger-env.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';
/** Pages of the gateway have 200 rows. */
const CHARGES = 1_234;
const FORMULA = '=HYPERLINK("https://evil.test";1)';

interface JsonPage {
  readonly data: readonly { readonly id?: string; readonly request_id?: string }[];
  readonly next_cursor: string | null;
}

let server: PostgresServer;
beforeAll(async () => {
  server = await usePostgresServer();
});
afterAll(() => server.stop());
afterEach(() => {
  jest.restoreAllMocks();
});

describe.each(['embedded', 'PostgreSQL'] as const)('a list as CSV: %s', (ledger) => {
  let gateway: TestGateway;
  let store: BalanceStore;
  let env: Readonly<Record<string, string>>;
  let keyId: string;
  let accountId: string;
  let apiKey: string;
  beforeAll(async () => {
    env = { ADMIN_TOKEN, ...(await ledgerEnv(ledger, server)) };
    gateway = await startTestGateway({ env });
    ({ store } = gateway.running);
    const { path } = gateway.running.dataDir ?? { path: '' };
    if (path !== '') env = { ...env, DATA_DIR: path };
    ({ id: keyId, apiKey } = await gateway.createKey({ balance_usd: '100' }));
    ({ account_id: accountId } = await gateway.call('showKey', { key_id: keyId }));
    await gateway.call('topUpAccount', {
      account_id: accountId,
      amount_usd: '1',
      top_up_id: 'formula',
      reference: FORMULA,
    });
    await charge(CHARGES);
    const kept = Array.from({ length: CHARGES }, (_, index) =>
      requestRecord({ id: `req_${randomUUID()}`, endedAt: Date.now() - index, accountId, keyId }),
    );
    await store.recordRequests({ kept, counted: [] });
  });
  afterAll(() => gateway.stop());

  async function charge(times: number): Promise<void> {
    const charges = Array.from({ length: times }, () => settlement(keyId));
    await Promise.all(charges.map((each) => store.settle(each, { deadlineMs: 60_000 })));
  }

  const holders = (path: string) =>
    fetch(`${gateway.url}/v1/dashboard/${path}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
  const operators = (path: string) =>
    fetch(`${gateway.adminUrl}/admin/${path}`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
  const LISTS = {
    'the usage of a holder': { get: holders, path: 'usage?kind=all' },
    'the requests of a holder': { get: holders, path: 'requests?model=claude-opus-5' },
    'the ledger of an operator': { get: operators, path: 'ledger?model=claude-test' },
    'the requests of an operator': { get: operators, path: 'requests?outcome=ok' },
  } as const;
  const names = Object.keys(LISTS) as readonly (keyof typeof LISTS)[];

  /** The ids of all JSON pages. */
  async function idsOf(name: keyof typeof LISTS): Promise<readonly string[]> {
    const { get, path } = LISTS[name];
    const ids: string[] = [];
    for (let cursor = ''; ;) {
      const page = await get(`${path}&limit=1000${cursor}`);
      const { data, next_cursor } = (await page.json()) as JsonPage;
      ids.push(...data.map(({ id, request_id }) => id ?? request_id ?? ''));
      if (next_cursor === null) return ids;
      cursor = `&cursor=${next_cursor}`;
    }
  }

  // F473: a list as CSV has more rows than a page: the file has all of them, once and in order,
  // and texts in it are no formulas.
  it.each(names)('has all rows of the JSON pages, once and in their order: %s', async (name) => {
    const { get, path } = LISTS[name];
    const csv = await get(`${path}&format=csv`);
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(csv.headers.get('x-gateway-next-cursor')).toBeNull();
    const [header, ...rows] = linesOf(await csv.text());
    const ids = await idsOf(name);
    expect(ids.length).toBeGreaterThan(1_000);
    expect(rows.map((row) => cellOf(row, header, 'id'))).toEqual(ids);
    expect(rows.every((row) => row.length === header?.length)).toBe(true);
  });

  // F473
  it('has no formula on a later page', async () => {
    const rows = linesOf(await (await holders('usage?kind=all&format=csv')).text());
    const references = rows.map((row) => cellOf(row, rows[0], 'reference'));
    expect(references.indexOf(`'${FORMULA.replace(';', '\uff1b')}`)).toBeGreaterThan(1_000);
  });

  it.each(names)('has as many rows as limit says, and the next cursor: %s', async (name) => {
    const { get, path } = LISTS[name];
    const csv = await get(`${path}&format=csv&limit=10`);
    const cursor = csv.headers.get('x-gateway-next-cursor');
    const ids = await idsOf(name);
    expect(idColumn(await csv.text())).toEqual(ids.slice(0, 10));
    const rest = await get(`${path}&format=csv&cursor=${String(cursor)}`);
    expect(idColumn(await rest.text())).toEqual(ids.slice(10));
    const wrong = await get(`${path}&format=csv&cursor=nonsense`);
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining('cursor')]);
  });

  // F473
  it('has no row twice and none less if rows are added while it is read', async () => {
    const before = await idsOf('the usage of a holder');
    const listEntries = store.listEntries.bind(store);
    let pages = 0;
    jest.spyOn(store, 'listEntries').mockImplementation(async (filter) => {
      pages += 1;
      await charge(3);
      return listEntries(filter);
    });
    const all = idColumn(await (await holders('usage?kind=all&format=csv')).text());
    expect(pages).toBeGreaterThan(2);
    expect(new Set(all).size).toBe(all.length);
    expect(all.filter((id) => before.includes(id ?? ''))).toEqual(before);
  });

  /** The third page cannot be read. */
  function breakThirdPage(): void {
    const listEntries = store.listEntries.bind(store);
    let pages = 0;
    jest.spyOn(store, 'listEntries').mockImplementation((filter) => {
      pages += 1;
      const error = new StoreUnavailableError('the database is away');
      return pages === 3 ? Promise.reject(error) : listEntries(filter);
    });
  }

  // F474
  it('breaks off if a later page cannot be read, and can be asked for again', async () => {
    for (const get of [
      () => holders('usage?kind=all&format=csv'),
      () => operators('ledger?format=csv'),
    ]) {
      breakThirdPage();
      const broken = await get();
      expect(broken.status).toBe(200);
      await expect(broken.text()).rejects.toThrow();
      jest.restoreAllMocks();
      expect((await (await get()).text()).length).toBeGreaterThan(0);
    }
  });

  // F475: rows of the range are archived or deleted, before or while they are read: the file says
  // from when it has them, or breaks off.
  it('breaks off if charges are archived while it is read', async () => {
    const listEntries = store.listEntries.bind(store);
    let pages = 0;
    jest.spyOn(store, 'listEntries').mockImplementation(async (filter) => {
      pages += 1;
      const page = await listEntries(filter);
      return pages === 2 ? { ...page, archivedUntil: new Date(0) } : page;
    });
    await expect((await operators('ledger?format=csv')).text()).rejects.toThrow();
    pages = 0;
    await expect((await holders('usage?format=csv')).text()).rejects.toThrow();
  });

  it('is printed whole by the command line, over the admin API and beside a gateway', async () => {
    const ids = (await gateway.call('listLedger', { limit: 1_000 })).data.map(({ id }) => id);
    const list = ['ledger', 'list', '--csv'];
    const remote = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN };
    const printed = await commandProcess(list, remote);
    expect({ code: printed.code, err: printed.err }).toEqual({ code: 0, err: '' });
    const rows = idColumn(printed.out);
    expect(rows.slice(0, 1_000)).toEqual(ids);
    expect(rows.length).toBeGreaterThan(CHARGES);
    expect(await commandProcess(list, { ...env, LOG_LEVEL: 'silent' })).toEqual(printed);
    const few = await gatewayCommand([...list, '--limit', '10'], remote);
    expect([few.code, idColumn(few.out)]).toEqual([0, ids.slice(0, 10)]);
    expect(few.err).toMatch(/^More: --after \S+\n$/);
    const requests = await gatewayCommand(['requests', '--csv'], remote);
    expect(idColumn(requests.out)).toHaveLength(CHARGES);
    expect([requests.code, requests.err]).toEqual([
      0,
      expect.stringMatching(/^Requests are recorded since .*\.\n$/),
    ]);
  });

  // F474
  it('fails in the command line if a later page cannot be read', async () => {
    breakThirdPage();
    const remote = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN };
    const printed = await gatewayCommand(['ledger', 'list', '--csv'], remote);
    expect(idColumn(printed.out)).toHaveLength(400);
    expect(printed).toMatchObject({
      code: 3,
      err: expect.stringMatching(/^The CSV is not whole: it ends after row 400\.\nfarthing: /),
    });
  });

  // F477: a list cannot be read to its end: the command fails before it prints a part of it.
  it('is refused if there are more rows than the list can give', async () => {
    const ids = Array.from({ length: 201 }, () => `req_${randomUUID()}`);
    await Promise.all(ids.map((requestId) => store.placeHold({ requestId, keyId, amount: 1n })));
    expect(await gateway.call('listHolds', { state: 'live', limit: 200 })).toMatchObject({
      has_more: true,
    });
    const remote = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN };
    const holds = ['holds', '--state', 'live', '--csv'];
    expect(await gatewayCommand(['ledger', ...holds], remote)).toEqual({
      code: 1,
      out: '',
      err: 'farthing: --limit: must be given, because this list has more than 200 rows\n',
    });
    const limited = await gatewayCommand(['ledger', ...holds, '--limit', '1000'], remote);
    expect(linesOf(limited.out)).toHaveLength(202);
  });

  // F475
  it('of requests says since when they are recorded', async () => {
    const since = await store.requestsRecordedFrom('requests');
    for (const name of ['the requests of a holder', 'the requests of an operator'] as const) {
      const csv = await LISTS[name].get(`${LISTS[name].path}&format=csv`);
      expect(csv.headers.get('x-gateway-recorded-from')).toBe(since?.toISOString());
      await csv.text();
    }
  });
});

/** The cells of each line, of files without line breaks in cells. */
function linesOf(csv: string): readonly (readonly string[])[] {
  return csv
    .trimEnd()
    .split('\r\n')
    .map((line) =>
      [...line.matchAll(/(?:^|,)("(?:[^"]|"")*"|[^,]*)/g)].map(([, cell = '']) =>
        cell.replace(/^"(.*)"$/, '$1').replaceAll('""', '"'),
      ),
    );
}

function cellOf(
  row: readonly string[] | undefined,
  header: readonly string[] | undefined,
  column: string,
): string | undefined {
  return row?.[header?.indexOf(column) ?? -1];
}

function idColumn(csv: string): readonly (string | undefined)[] {
  const [header, ...rows] = linesOf(csv);
  return rows.map((row) => cellOf(row, header, 'id'));
}
