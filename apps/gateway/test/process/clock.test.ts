/** A step of the machine's clock has no effect on money, limits and requests in progress. */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestGateway, postMessages, userMessage } from '../support/gateway.js';

const HOUR_MS = 3_600_000;
const SystemDate = Date;
let stepMs = 0;

/** The clock of this process. Keys expire by the clock of the ledger, which does not step here. */
class SteppingDate extends SystemDate {
  constructor(...parts: ConstructorParameters<typeof SystemDate> | []) {
    if (parts.length === 0) super(SteppingDate.now());
    else super(...parts);
  }
  static override now(): number {
    return SystemDate.now() + stepMs;
  }
}

beforeAll(() => {
  globalThis.Date = SteppingDate as DateConstructor;
});
afterAll(() => {
  globalThis.Date = SystemDate;
});

it.each([
  ['ahead', HOUR_MS],
  ['back', -HOUR_MS],
])(
  'a clock that steps an hour %s frees no permit, locks no key out, and every request is charged',
  async (_, step) => {
    stepMs = 0;
    const gateway = await startTestGateway({ simulator: { eventDelayMs: 20 } });
    const busy = await gateway.createKey();
    const limited = await gateway.createKey({ burst: 2, requests_per_minute: 1 });
    const send = (apiKey: string) => postMessages(gateway, apiKey, userMessage('Hello'));

    for (let i = 0; i < 2; i += 1) expect((await send(limited.apiKey)).status).toBe(200);
    const stream = await postMessages(
      gateway,
      busy.apiKey,
      userMessage('Tell me something long', { stream: true }),
    );
    stepMs = step;
    expect(await stream.text()).toContain('event: message_stop');

    const refused = await send(limited.apiKey);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    for (let i = 0; i < 10; i += 1) expect((await send(busy.apiKey)).status).toBe(200);

    const served = gateway.simulator.journal.usages();
    const audit = await gateway.call('auditLedger', {});
    expect(audit).toMatchObject({ is_sound: true, gap_usd: '0', entries: served.length + 2 });
    const balance = await fetch(`${gateway.url}/v1/dashboard/balance`, {
      headers: { authorization: `Bearer ${busy.apiKey}` },
    });
    expect(balance.status).toBe(200);
    await gateway.stop();
  },
);
