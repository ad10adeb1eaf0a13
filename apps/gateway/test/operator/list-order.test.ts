/** The orders of the operators' lists, over the admin API. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
const ids: string[] = [];
beforeAll(async () => {
  gateway = await startTestGateway();
  for (const [balance_usd, requests] of [
    ['9', 1],
    ['10', 3],
    ['0.5', 0],
    ['100', 2],
  ] as const) {
    const key = await gateway.call('createKey', { name: 'ordered', balance_usd });
    ids.push(key.account_id);
    for (let count = 0; count < requests; count += 1) {
      await (await postMessages(gateway, key.api_key ?? '', userMessage('Hello'))).text();
    }
  }
});
afterAll(() => gateway.stop());

const placesOf = (data: readonly { readonly id: string }[]) =>
  data.map(({ id }) => ids.indexOf(id));

describe('lists of accounts and keys', () => {
  it.each([
    ['newest', [3, 2, 1, 0]],
    ['spent', [1, 3, 0, 2]],
    ['balance', [2, 0, 1, 3]],
    ['last_charged', [3, 1, 0, 2]],
  ] as const)('by %s are in that order on every page', async (order, expected) => {
    const found: number[] = [];
    for (let after: string | undefined; ;) {
      const page = await gateway.call('listAccounts', { name: 'ordered', order, limit: 1, after });
      found.push(...placesOf(page.data));
      if (page.next_cursor === null) break;
      after = page.next_cursor;
    }
    expect(found).toEqual(expected);
    const keys = await gateway.call('listKeys', { name: 'ordered', order });
    const accounts = keys.data.map(({ account_id }) => ({ id: account_id }));
    expect(placesOf(accounts)).toEqual(expected);
  });

  it('refuse an unknown order, and a cursor that belongs to a different order', async () => {
    const { next_cursor } = await gateway.call('listAccounts', { order: 'spent', limit: 1 });
    const after = next_cursor ?? '';
    for (const name of ['listAccounts', 'listKeys'] as const) {
      await expect(gateway.call(name, { order: 'name' as never })).rejects.toThrow(/^order: /);
      for (const order of ['newest', 'balance'] as const) {
        await expect(gateway.call(name, { order, after })).rejects.toThrow(
          /^after: must be the next_cursor/,
        );
      }
    }
  });
});
