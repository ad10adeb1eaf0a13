/**
 * Calls of endpoints accept what the gateway declares, and nothing else. `npm run types`
 * compiles this file, and fails if the line after a `@ts-expect-error` has no type error.
 */

import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Call } from '../../src/shared/api/api.js';
import { callingEndpoints } from '../../src/shared/api/endpoints.js';
import type { AdminCalls } from '../../src/shared/api/gateway-types.js';

const sent: { readonly path: string; readonly given: Call }[] = [];
const call = callingEndpoints<AdminCalls>((path, given) => {
  sent.push({ path, given });
  return Promise.resolve({ ok: true, value: undefined, text: '' });
});
beforeEach(() => {
  sent.length = 0;
});

describe('a call of an endpoint', () => {
  it('has the ids in its path, encoded', async () => {
    const path = { account_id: 'a/b c' };
    await call('PATCH /admin/accounts/:account_id', { path, body: { name: 'other' } });
    expect(sent).toEqual([
      { path: '/admin/accounts/a%2Fb%20c', given: { method: 'PATCH', body: { name: 'other' } } },
    ]);
  });

  it('may leave out what is optional', async () => {
    await call('GET /admin/accounts', {});
    await call('GET /admin/accounts', { query: { name: undefined, limit: 5 } });
    expect(sent).toHaveLength(2);
  });

  it('cannot have a member that the endpoint does not have', async () => {
    const known = { name: 'a' };
    const unknown = { colour: 'red' };
    // @ts-expect-error - a parameter, also when it comes from another object
    await call('GET /admin/accounts', { query: { ...known, ...unknown } });
    // @ts-expect-error - a member of a body
    await call('POST /admin/accounts', { body: { ...known, ...unknown } });
    const usage = { request_id: 'r', input_tokens: 1, output_tokens: 1, ...unknown };
    // @ts-expect-error - a member of an item of a list
    await call('POST /admin/ledger/witness', { body: { usages: [usage] } });
    // @ts-expect-error - a body where there is none
    await call('GET /admin/today', { body: known });
    // @ts-expect-error - a value of another type
    await call('GET /admin/accounts', { query: { order: 'colour' } });
    expect(sent).toHaveLength(5);
  });

  it('cannot lack what is required', async () => {
    // @ts-expect-error - the name
    await call('POST /admin/accounts', { body: {} });
    // @ts-expect-error - the id
    await call('GET /admin/accounts/:account_id', {});
    expect(sent).toHaveLength(2);
  });

  it('cannot have a path that the gateway does not have', async () => {
    // @ts-expect-error - an unknown path
    await call('GET /admin/colours', {});
    expect(sent).toHaveLength(1);
  });
});
