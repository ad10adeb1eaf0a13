/** What an operator decided about a key, and what a holder may change of it, on both ledgers. */

import { expect, it } from '@jest/globals';
import { describePayments } from '../support/payments.js';

describePayments((bench) => {
  const { dashboard } = bench;

  async function newAccount(given: object = {}) {
    const { call } = bench.gateway;
    const { id: accountId } = await call('createAccount', { name: 'team', balance_usd: '100' });
    const manager = await call('createKey', {
      name: 'lead',
      account_id: accountId,
      scope: 'manage',
      concurrency: 50,
    });
    const member = await call('createKey', { name: 'member', account_id: accountId, ...given });
    const send = (method: 'POST' | 'PATCH', path: string, body: object = {}) =>
      dashboard(manager.api_key ?? '', path, { method, body: JSON.stringify(body) });
    return {
      id: member.id,
      read: () => dashboard(manager.api_key ?? '', `keys/${member.id}`),
      list: () => dashboard(manager.api_key ?? '', 'keys'),
      act: (action: 'suspend' | 'resume' | 'revoke') => send('POST', `keys/${member.id}/${action}`),
      change: (body: object) => send('PATCH', `keys/${member.id}`, body),
      create: (body: object) => send('POST', 'keys', body),
    };
  }

  const REFUSED = { status: 403, json: { error: { code: 'set_by_operator' } } };

  // F150: a key with the scope manage resumes a key that an operator suspended, or raises or
  // removes what an operator set: 403 `set_by_operator`, nothing changed; it may make the values
  // stricter, and go back to the operator's.
  it('a key that an operator suspended is resumed by operators only, whoever suspended it first', async () => {
    const { call } = bench.gateway;
    for (const first of ['operator', 'holder'] as const) {
      const member = await newAccount();
      const key = { key_id: member.id };
      if (first === 'holder') expect((await member.act('suspend')).status).toBe(200);
      await call('suspendKey', key);
      const refused = await member.act('resume');
      expect(refused).toMatchObject(REFUSED);
      expect(refused.json.error.message).toMatch(/^key_id: your operator suspended this key/);
      // Suspending it again does not make it the holder's decision.
      expect((await member.act('suspend')).status).toBe(200);
      expect(await member.act('resume')).toMatchObject(REFUSED);
      expect((await member.read()).json).toMatchObject({
        state: 'suspended',
        operator_bounds: { suspended: true },
      });
      expect((await member.list()).json.data).toContainEqual((await member.read()).json);
      expect(await call('resumeKey', key)).toMatchObject({ state: 'active' });
      // What the holder suspends, the holder resumes, and an operator too.
      expect((await member.act('suspend')).json).toMatchObject({ state: 'suspended' });
      expect((await member.act('resume')).json).toMatchObject({ state: 'active' });
      await member.act('suspend');
      expect(await call('resumeKey', key)).toMatchObject({ state: 'active' });
      await call('suspendKey', key);
      expect((await member.act('revoke')).json).toMatchObject({ state: 'revoked' });
    }
  });

  const SET = {
    cap_day_usd: '5',
    cap_total_usd: '50',
    models: ['claude-sonnet-4-6', 'claude-haiku-4-5'],
    allowed_networks: ['10.0.0.0/8', '2001:db8::/32'],
    expires_at: '2040-01-01T00:00:00.000Z',
  };
  const LOOSER: readonly object[] = [
    { cap_day_usd: null },
    { cap_day_usd: '5.00000000000001' },
    { cap_total_usd: null },
    { name: 'renamed', cap_week_usd: '1', cap_total_usd: '51' },
    { models: null },
    { models: ['claude-sonnet-4-6', 'claude-opus-4-6'] },
    { allowed_networks: null },
    { allowed_networks: ['10.0.0.0/7'] },
    { allowed_networks: ['10.0.0.0/8', '192.0.2.1'] },
    { allowed_networks: ['2001:db8::/31'] },
    { expires_at: null },
    { expires_at: '2040-01-01T00:00:00.001Z' },
  ];
  const STRICTER: readonly object[] = [
    { cap_day_usd: '4', cap_week_usd: '3', cap_month_usd: '2', cap_total_usd: '0' },
    { allowed_networks: ['10.20.0.0/16', '10.0.0.1', '2001:db8:7::/48'] },
    { models: ['claude-haiku-4-5'], expires_at: '2039-01-01T00:00:00.000Z' },
    // Back to the operator's values, and without those that the holder added.
    { ...SET, cap_week_usd: null, cap_month_usd: null },
  ];

  // F150
  it.each(['at the creation', 'later'])(
    'caps, models, networks and an expiry that an operator sets %s are bounds for the holder',
    async (when) => {
      const { call } = bench.gateway;
      const member = await newAccount(when === 'later' ? {} : SET);
      if (when === 'later') {
        expect((await member.read()).json.operator_bounds).toBeNull();
        await member.change({ cap_day_usd: '1' });
        await call('updateKey', { key_id: member.id, ...SET });
      }
      const before = (await member.read()).json;
      expect(before.operator_bounds).toMatchObject({ ...SET, cap_week_usd: null });
      for (const change of LOOSER) {
        expect([change, await member.change(change)]).toMatchObject([change, REFUSED]);
        expect((await member.read()).json).toEqual(before);
      }
      for (const change of STRICTER) {
        expect([change, (await member.change(change)).status]).toEqual([change, 200]);
      }
      expect((await member.read()).json).toEqual(before);
      // An operator can take it all back.
      const cleared = {
        cap_day_usd: null,
        cap_total_usd: null,
        models: null,
        expires_at: null,
        allowed_networks: null,
      };
      await call('updateKey', { key_id: member.id, ...cleared });
      for (const change of LOOSER) expect((await member.change(change)).status).toBe(200);
    },
  );

  // F150
  it('limits that an operator lowered are not raised by a key with higher ones', async () => {
    const { call } = bench.gateway;
    const member = await newAccount();
    await call('updateKey', { key_id: member.id, concurrency: 2 });
    expect(await member.change({ concurrency: 3 })).toMatchObject(REFUSED);
    expect((await member.change({ concurrency: 1 })).status).toBe(200);
    expect((await member.change({ concurrency: 2 })).json.limits.concurrency).toBe(2);
  });

  it('what a holder set on a key of its own is no bound', async () => {
    const member = await newAccount();
    const made = await member.create({ name: 'own', cap_day_usd: '1', models: ['claude-x'] });
    expect(made.json).toMatchObject({ operator_bounds: null, caps: { day: { cap_usd: '1' } } });
  });
});
