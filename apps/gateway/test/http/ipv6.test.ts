/** Clients that connect over IPv6. */

import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, it } from '@jest/globals';
import { postChat, postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);
/**
 * On a machine without IPv6 these tests are skipped; `client-address.test.ts` tests which addresses
 * count as one client.
 */
const describeWithIPv6 = hasIPv6 ? describe : describe.skip;

let gateway: TestGateway | undefined;
afterEach(() => gateway?.stop());

const balanceReadStatuses = async (
  url: string,
  apiKey: string,
  count: number,
): Promise<number[]> => {
  const headers = { authorization: `Bearer ${apiKey}` };
  const reads = Array.from({ length: count }, () =>
    fetch(`${url}/v1/dashboard/balance`, { headers }),
  );
  return (await Promise.all(reads)).map(({ status }) => status);
};
const served = (statuses: number[]): number => statuses.filter((status) => status === 200).length;

describeWithIPv6('a gateway that listens on IPv6', () => {
  // F85: clients over IPv6: served; a /64 counts as one, a mapped IPv4 address as itself.
  it('serves messages and chat completions, reports its address with brackets, and limits balance reads', async () => {
    gateway = await startTestGateway({ env: { HOST: '::1' } });
    expect(gateway.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect(new URL(gateway.adminUrl).hostname).toBe('127.0.0.1');
    const { apiKey } = await gateway.createKey();
    for (const post of [postMessages, postChat]) {
      expect((await post(gateway, apiKey, userMessage('Hello'))).status).toBe(200);
      const stream = await post(gateway, apiKey, userMessage('Hello', { stream: true }));
      expect(await stream.text()).toMatch(/message_stop|\[DONE\]/);
    }
    expect(await (await fetch(gateway.url)).json()).toMatchObject({
      base_urls: { messages: gateway.url },
    });
    expect(served(await balanceReadStatuses(gateway.url, apiKey, 35))).toBe(30);
  });

  // F85
  it('counts an IPv4 client by its own address, separately from IPv6 clients', async () => {
    gateway = await startTestGateway({ env: { HOST: '::' } });
    const { port } = new URL(gateway.url);
    const { apiKey } = await gateway.createKey();
    // A connection to 127.0.0.2 comes from 127.0.0.1, too. So the server sees the address
    // ::ffff:127.0.0.1 for the first two calls, and ::1 for the third.
    expect(served(await balanceReadStatuses(`http://127.0.0.1:${port}`, apiKey, 35))).toBe(30);
    expect(served(await balanceReadStatuses(`http://127.0.0.2:${port}`, apiKey, 1))).toBe(0);
    expect(served(await balanceReadStatuses(`http://[::1]:${port}`, apiKey, 35))).toBe(30);
  });

  it('can serve the admin API on IPv6, too', async () => {
    gateway = await startTestGateway({ env: { HOST: '::1', ADMIN_HOST: '::1' } });
    expect(gateway.adminUrl).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await fetch(`${gateway.adminUrl}/healthz`)).status).toBe(200);
  });
});
