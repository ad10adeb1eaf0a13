/** A gateway is started again while the clock is behind the last entry of its ledger. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { rewriteLedger } from '../../../../packages/balance-store/test/rewrite-ledger.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';

const ADMIN_TOKEN = 'admin-token-of-a-clock-that-was-set-back';
const BEHIND_MS = 600_000;

let dataDir: string;
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'clock-behind-'));
});
afterAll(() => {
  rmSync(dataDir, { recursive: true, force: true });
});

// F497: the clock is set back by ten minutes: charges have the time of the last entry, the ledger
// stays sound, and an event and a metric tell the operator, once for however many starts.
it('charges at the time of the last entry, and says that the clock is behind', async () => {
  const start = () => startTestGateway({ env: { DATA_DIR: dataDir, ADMIN_TOKEN } });
  let gateway = await start();
  const { apiKey } = await gateway.createKey();
  const send = async () => {
    const response = await postMessages(gateway, apiKey, userMessage('Hello'));
    expect(response.status).toBe(200);
    await response.text();
  };
  await send();
  await gateway.stop();
  const last = new Date(Date.now() + BEHIND_MS);
  const ms = String(last.getTime());
  await rewriteLedger(
    { dataDir },
    `UPDATE ledger SET created_at = ${ms} WHERE kind = 'charge';
    UPDATE usage_hour SET hour = ${String(Math.floor(last.getTime() / 3_600_000))};
    UPDATE account SET last_charged_at = ${ms}`,
  );
  for (let started = 0; started < 2; started += 1) {
    gateway = await start();
    await send();
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
    const [, behind] = /^gateway_ledger_clock_behind_seconds (\S+)$/m.exec(metrics) ?? [];
    expect(Number(behind)).toBeGreaterThan(BEHIND_MS / 2_000);
    expect(Number(behind)).toBeLessThanOrEqual(BEHIND_MS / 1_000);
    const { data } = await gateway.call('listEvents', {});
    const events = data.filter(({ type }) => type === 'ledger.clock_behind');
    expect(events).toMatchObject([{ data: { last_entry_at: last.toISOString() } }]);
    const { data: entries } = await gateway.call('listLedger', { kind: 'charge' });
    expect(new Set(entries.map(({ created_at }) => created_at))).toEqual(
      new Set([last.toISOString()]),
    );
    expect(entries).toHaveLength(started + 2);
    await gateway.stop();
  }
});
