/**
 * A client that leaves before the end of its response is charged for all of it, and can see how
 * much of it was sent.
 */

import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { deliveryRemark, readDelivery, sentTokens } from '../../src/ledger/delivery.js';
import { PATHS, bodyFor, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.simulator.reset();
});

interface Usage {
  readonly charge_usd: string;
  readonly usage: { readonly output_tokens: number };
  readonly delivered: {
    readonly bytes: number;
    readonly of_bytes: number;
    readonly output_tokens: number;
  } | null;
}

describe.each(Object.entries(PATHS))('a request of %s', (_dialect, path) => {
  const headersOf = (apiKey: string) => ({
    'x-api-key': apiKey,
    'anthropic-version': '2023-06-01',
    'content-type': 'application/json',
  });
  const bodyOf = (stream: boolean) =>
    JSON.stringify(bodyFor(path, userMessage('Hello', { stream })));
  const ask = (apiKey: string, signal?: AbortSignal) =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: headersOf(apiKey),
      body: bodyOf(true),
      ...(signal === undefined ? {} : { signal }),
    });

  async function charged(apiKey: string, format = ''): Promise<Response> {
    for (;;) {
      const response = await fetch(`${gateway.url}/v1/dashboard/usage?kind=charge${format}`, {
        headers: { authorization: `Bearer ${apiKey}` },
      });
      if (format !== '') return response;
      if ((await response.clone().json()).data.length > 0) return response;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  const chargeOf = async (apiKey: string): Promise<Usage> =>
    (await (await charged(apiKey)).json()).data[0];

  it('whose client leaves a stream is charged whole, and shows what was sent', async () => {
    const whole = await gateway.createKey();
    const text = await (await ask(whole.apiKey)).text();
    const complete = await chargeOf(whole.apiKey);
    expect(complete.delivered).toBeNull();

    const { id, apiKey } = await gateway.createKey();
    gateway.simulator.script({ eventDelayMs: 60 });
    const leaving = new AbortController();
    const response = await ask(apiKey, leaving.signal);
    const reader = response.body!.getReader();
    let received = 0;
    for (let chunk = 0; chunk < 3; chunk += 1) {
      received += (await reader.read()).value?.length ?? 0;
    }
    leaving.abort();
    const { delivered, ...charge } = await chargeOf(apiKey);
    expect(charge).toMatchObject({ charge_usd: complete.charge_usd, usage: complete.usage });
    // The charge is written into the usage after the bytes are counted.
    const added = /,"charge_usd":"[0-9.]+"/.exec(text)?.[0].length ?? 0;
    expect(delivered!.of_bytes).toBe(text.length - added);
    expect(delivered!.bytes).toBeGreaterThanOrEqual(received);
    expect(delivered!.bytes).toBeLessThan(text.length);
    const share = delivered!.bytes / text.length;
    expect(delivered!.output_tokens).toBe(Math.floor(share * charge.usage.output_tokens));

    const csv = await (await charged(apiKey, '&format=csv')).text();
    const [names, values] = csv.split('\r\n');
    const column = names!.split(',').indexOf('delivered_output_tokens');
    expect(values!.split(',')[column]).toBe(String(delivered!.output_tokens));
    const [entry] = (await gateway.call('listLedger', { key_id: id, kind: 'charge' })).data;
    expect(entry).toMatchObject({
      delivered,
      remarks: `client_left: ${String(delivered!.bytes)} of ${String(delivered!.of_bytes)} bytes of the response were sent`,
    });
  });

  it('whose client resets its connection before a plain response shows that nothing was sent', async () => {
    const { apiKey } = await gateway.createKey();
    let hasArrived = false;
    gateway.simulator.scriptWhen(() => (hasArrived = true), { delayMs: 1_000 });
    // A client that only closes its side may still read, so it counts as gone once it resets.
    const leaving = request(gateway.url + path, { method: 'POST', headers: headersOf(apiKey) });
    leaving.on('error', () => undefined);
    leaving.end(bodyOf(false));
    while (!hasArrived) await new Promise((resolve) => setTimeout(resolve, 5));
    leaving.socket?.resetAndDestroy();
    const { delivered } = await chargeOf(apiKey);
    expect(delivered).toMatchObject({ bytes: 0, output_tokens: 0 });
    expect(delivered!.of_bytes).toBeGreaterThan(100);
  });
});

describe('the remark of a delivery', () => {
  it('is read as it was written, alone or before other remarks, and never from another one', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(), fc.string(), (sentBytes, more, tokens, other) => {
        const delivery = { sentBytes, bytes: sentBytes + more };
        const remark = deliveryRemark(delivery);
        expect(readDelivery(remark)).toEqual(delivery);
        expect(readDelivery(`${remark}; ${other}`)).toEqual(delivery);
        expect(readDelivery(`x${other}; ${remark}`)).toBeUndefined();
        expect(sentTokens(delivery, tokens)).toBeLessThanOrEqual(tokens);
        expect(sentTokens({ sentBytes: 0, bytes: more }, tokens)).toBe(0);
        if (sentBytes > 0) expect(sentTokens({ sentBytes, bytes: sentBytes }, tokens)).toBe(tokens);
      }),
    );
    expect(readDelivery(undefined)).toBeUndefined();
  });
});
