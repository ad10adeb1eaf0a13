/** What a credential may still do after a rotation has replaced it, during its grace period. */

import { expect, it } from '@jest/globals';
import { createApp } from '../../src/process/app.js';
import { PATHS, bodyFor, userMessage } from '../support/gateway.js';
import { describePayments } from '../support/payments.js';

/** Endpoints that a replaced credential is not refused for: they serve requests to models. */
const SERVES = new Set<string>([
  ...Object.values(PATHS),
  '/v1/messages/count_tokens',
  '/v1/responses/input_tokens',
]);
/** It only removes the browser's cookie. */
const SIGN_OUT = 'DELETE /v1/dashboard/session';
/** Endpoints that take no credential of a key. */
const NOT_FOR_KEYS = new Set(['/webhooks/stripe', '/v1/dashboard/key-link']);

interface Layer {
  readonly route?: {
    readonly path: string;
    readonly stack: readonly { readonly method: string | undefined }[];
  };
}

describePayments((bench) => {
  const { newCustomer, dashboard } = bench;
  const routes = () =>
    (
      createApp(bench.gateway.running.appParts).router as unknown as {
        readonly stack: readonly Layer[];
      }
    ).stack.flatMap(({ route }) =>
      (route?.stack ?? []).flatMap(({ method }) =>
        method === undefined ? [] : [{ method: method.toUpperCase(), path: route?.path ?? '' }],
      ),
    );

  async function rotated() {
    const { gateway } = bench;
    const { id, apiKey } = await newCustomer('100');
    await gateway.call('updateKey', { key_id: id, scope: 'manage' });
    const { api_key } = await gateway.call('rotateKey', { key_id: id, grace_seconds: 3_600 });
    return { id, replaced: apiKey, current: api_key ?? '' };
  }

  // F144: a credential that a rotation has replaced rotates, creates keys or pays during its grace
  // period: 403 `replaced_credential` on every route that changes something; it still serves
  // requests and reads.
  it('serves requests and reads with a replaced credential', async () => {
    const { gateway } = bench;
    const { id, replaced } = await rotated();
    for (const path of Object.values(PATHS)) {
      const served = await fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${replaced}`,
          'content-type': 'application/json',
          'anthropic-version': '2023-06-01',
        },
        body: JSON.stringify(bodyFor(path, userMessage('Hello'))),
      });
      expect([path, served.status]).toEqual([path, 200]);
    }
    for (const path of ['balance', 'usage', 'keys', `keys/${id}`, 'top-ups', 'auto-top-up']) {
      expect([path, (await dashboard(replaced, path)).status]).toEqual([path, 200]);
    }
  });

  // F144
  it('refuses each change with a replaced credential, on every route that there is', async () => {
    const { id, replaced, current } = await rotated();
    const changes = routes().filter(
      ({ method, path }) =>
        method !== 'GET' &&
        method !== 'HEAD' &&
        !SERVES.has(path) &&
        !NOT_FOR_KEYS.has(path) &&
        `${method} ${path}` !== SIGN_OUT,
    );
    // Those of keys, links, promo codes, payments, auto top-up and kept responses.
    expect(changes.length).toBeGreaterThanOrEqual(12);
    const before = await dashboard(current, 'keys');
    for (const { method, path } of changes) {
      expect(path).toMatch(/^\/v1\//);
      const asked = path.replace('/v1', '..').replace(':key_id', id);
      const { status, json } = await dashboard(replaced, asked, { method, body: '{}' });
      expect({ method, path, status, ...json.error }).toMatchObject({
        method,
        path,
        status: 403,
        type: 'permission_error',
        code: 'replaced_credential',
        message: expect.stringMatching(/replaced.*use the current credential/),
      });
    }
    expect(await dashboard(current, 'keys')).toEqual(before);
    const renamed = await dashboard(current, 'keys', {
      method: 'POST',
      body: JSON.stringify({ name: 'by the owner' }),
    });
    expect(renamed.status).toBe(200);
  });
});
