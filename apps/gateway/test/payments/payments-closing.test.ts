/** The end of an account, over HTTP and by commands: its keys and orders, and late payments. */

import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { gatewayCommand } from '../support/gateway-process.js';
import { describePayments } from '../support/payments.js';

describePayments((bench) => {
  const { newCustomer, newPayer, start, deliver, deliverAll, eventsOf, balanceOf, ask } = bench;

  const close = (account_id: string, more: object = {}) =>
    bench.gateway.call('closeAccount', {
      account_id,
      closing_id: `end.${account_id}`,
      reason: 'the customer asked',
      rest: 'refund',
      paid_through: 'bank',
      ...more,
    });
  const unbooked = async () =>
    (await bench.gateway.call('listUnbookedPayments', { limit: 1_000 })).data;
  const paymentOf = async (payment_id: string) => bench.gateway.call('showPayment', { payment_id });

  // F506
  it('closing revokes the keys, books the rest, and stops auto top-up and open pages', async () => {
    const customer = await newPayer('20');
    await deliverAll(customer.events);
    const { paymentId, checkoutId } = await start(customer.apiKey);
    const order = { threshold_usd: '5', amount_usd: '10', max_per_day: 1, max_per_month_usd: '50' };
    const put = { method: 'PUT', body: JSON.stringify(order) };
    expect((await bench.dashboard(customer.apiKey, 'auto-top-up', put)).status).toBe(200);
    expect(await ask(customer.apiKey)).toBe(200);
    const { accountId: account_id } = customer;
    const left = await balanceOf(account_id);
    const closed = await close(account_id);
    expect(closed).toMatchObject({
      rest: 'refund',
      rest_usd: left,
      given_back_usd: '0',
      replayed: false,
      account: { state: 'closed', balance_usd: '0', usable_keys: 0 },
    });
    expect(await ask(customer.apiKey)).toBe(401);
    expect((await bench.dashboard(customer.apiKey, 'balance')).status).toBe(401);
    expect(await bench.gateway.call('showAutoTopUp', { account_id })).toMatchObject({
      state: 'off',
    });
    expect(await paymentOf(paymentId)).toMatchObject({ state: 'expired', url: null });
    expect(() => bench.stripe.pay(checkoutId)).toThrow();
    expect(await close(account_id)).toEqual({ ...closed, replayed: true });
    const [entry] = (await bench.gateway.call('listLedger', { account_id, limit: 1 })).data;
    expect(entry).toMatchObject({ counter: 'cash:bank', reason: 'refund', amount_usd: `-${left}` });
    const events = await bench.gateway.call('listEvents', { account_id });
    expect(events.data.map(({ type }) => type)).toContain('account.closed');
    expect((await bench.gateway.call('auditLedger', {})).differences).toEqual([]);
  });

  // F512: the gateway is killed after the ledger closed the account, before the provider was asked:
  // the next call ends the pages, whether or not it has the id of the first.
  it('ends the pages when it is repeated, although the account is closed already', async () => {
    for (const closing_id of [undefined, 'another'] as const) {
      const { accountId, apiKey } = await newCustomer('1');
      const { paymentId } = await start(apiKey);
      const first = `end.${accountId}`;
      await bench.gateway.running.store.closeAccount({
        closingId: first,
        accountId,
        rest: { as: 'refund', counter: 'cash:bank' },
        debt: 'refuse',
        reason: 'the customer asked',
        by: { name: 'tests' },
      });
      expect((await paymentOf(paymentId)).state).toBe('open');
      bench.stripe.setDown(true);
      await expect(close(accountId)).rejects.toMatchObject({ status: 503 });
      bench.stripe.setDown(false);
      expect((await paymentOf(paymentId)).state).toBe('open');
      const again = close(accountId, closing_id === undefined ? {} : { closing_id });
      if (closing_id === undefined) expect(await again).toMatchObject({ replayed: true });
      else await expect(again).rejects.toMatchObject({ status: 409 });
      expect((await paymentOf(paymentId)).state).toBe('expired');
    }
  });

  // F513: the customer paid, and the notification comes after the closing: it is not credited to a
  // closed account, and does not vanish.
  it('a payment that completes after the closing is listed as unbooked, until it is paid back', async () => {
    const customer = await newPayer('20');
    await close(customer.accountId, { rest: undefined, paid_through: undefined });
    await deliverAll(customer.events);
    const [listed] = (await unbooked()).filter(({ id }) => id === customer.reference);
    expect(listed).toMatchObject({ fact: 'paid', reason: 'account_closed' });
    expect(await balanceOf(customer.accountId)).toBe('0');
    expect(await bench.notifiedOf(customer.accountId)).toContain('payment.unbooked');
    for (const event of eventsOf(() => bench.stripe.refund(customer.reference, 2_000))) {
      expect(await deliver(event)).toBe(200);
    }
    expect((await unbooked()).map(({ id }) => id)).not.toContain(customer.reference);
    expect(await balanceOf(customer.accountId)).toBe('0');
  });

  // F508
  it('a closed account gets neither money nor keys nor payments, until it is reopened', async () => {
    const { accountId: account_id } = await newCustomer();
    await close(account_id, { rest: undefined, paid_through: undefined });
    const { call } = bench.gateway;
    const credit = () =>
      call('topUpAccount', { account_id, top_up_id: randomUUID(), amount_usd: '1', anyway: true });
    for (const refused of [
      credit,
      () => call('createKey', { name: 'late', account_id }),
      () => call('updateAccount', { account_id, allowance_usd: '1' }),
      () => call('resumeAccount', { account_id }),
      () => call('startPayment', { account_id, amount_usd: '20', request_id: account_id }),
    ]) {
      await expect(refused()).rejects.toMatchObject({
        status: 409,
        message: expect.stringContaining('this account is closed'),
      });
    }
    const reopened = await call('reopenAccount', { account_id, reason: 'by mistake' });
    expect(reopened.state).toBe('active');
    expect((await credit()).balance_usd).toBe('1');
  });

  // F509
  it('credit for an account without a usable key is refused unless it is wanted, a payment never', async () => {
    const customer = await newPayer('20');
    const { id: key_id, accountId: account_id } = customer;
    await bench.gateway.call('revokeKey', { key_id });
    const credit = (more: object) =>
      bench.gateway.call('topUp', { key_id, top_up_id: randomUUID(), amount_usd: '1', ...more });
    await expect(credit({})).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining('no key of this account can be used'),
    });
    await deliverAll(customer.events);
    expect(await balanceOf(account_id)).toBe('20');
    const paid = { anyway: true, paid_through: 'bank' };
    expect(await credit(paid)).toMatchObject({ balance_usd: '21', active_keys: 0 });
    const [entry] = (await bench.gateway.call('listLedger', { account_id, limit: 1 })).data;
    expect(entry).toMatchObject({ counter: 'cash:bank' });
    await expect(credit({ ...paid, source: 'promotional' })).rejects.toMatchObject({ status: 400 });
    // So is a payment that the ledger could not book, and that is credited by hand.
    const top_up_id = `stripe:pi_${account_id}`;
    expect(await credit({ top_up_id })).toMatchObject({ balance_usd: '22', active_keys: 0 });
    const [byHand] = (await bench.gateway.call('listLedger', { account_id, limit: 1 })).data;
    expect(byHand).toMatchObject({ counter: 'cash:stripe' });
  });

  // F514: a correction was taken back by another one, so promotional credit became money for good.
  it('a reversal restores what an entry took, once, and never a payment', async () => {
    const customer = await newPayer('20');
    await deliverAll(customer.events);
    const { accountId: account_id, reference } = customer;
    const { call } = bench.gateway;
    const expires_at = '2099-01-01T00:00:00.000Z';
    const gift = { account_id, amount_usd: '5', source: 'promotional', expires_at } as const;
    await call('topUpAccount', { ...gift, top_up_id: `gift.${account_id}` });
    const adjustment_id = `wrong.${account_id}`;
    const wrong = { account_id, adjustment_id, amount_usd: '-24', reason: 'correction' } as const;
    await call('adjustBalance', wrong);
    const reverse = (reverses: string, reversal_id = `right.${account_id}`) =>
      call('reverseEntry', { account_id, reversal_id, reverses });
    const reversed = await reverse(`adjustment:${adjustment_id}`);
    expect(reversed).toMatchObject({ object: 'reversal', replayed: false, balance_usd: '25' });
    expect(await reverse(`adjustment:${adjustment_id}`)).toEqual({ ...reversed, replayed: true });
    const { unspent } = await call('showAccount', { account_id });
    expect([unspent.lots, unspent.other_usd]).toEqual([
      [expect.objectContaining({ remaining_usd: '5', expires_at, source: 'promotional' })],
      '20',
    ]);
    for (const [id, says] of [
      [`adjustment:${adjustment_id}`, 'was reversed before'],
      ['adjustment:nothing', 'no credit or adjustment with this id'],
      [`topup:stripe:${reference}`, 'farthing payments refund'],
    ] as const) {
      await expect(reverse(id, randomUUID())).rejects.toMatchObject({
        status: 409,
        message: expect.stringContaining(says),
      });
    }
    expect((await call('auditLedger', {})).differences).toEqual([]);
  });

  it('commands close, reopen and erase', async () => {
    const { accountId } = await newCustomer('3');
    const env = { ...bench.env, ADMIN_URL: bench.gateway.adminUrl };
    const cli = (...args: readonly string[]) => gatewayCommand(['accounts', ...args], env);
    const why = ['--reason', 'asked for'];
    expect(await cli('erase', accountId)).toMatchObject({
      code: 1,
      err: expect.stringContaining('close it first'),
    });
    expect(await cli('close', accountId, ...why)).toMatchObject({
      code: 1,
      err: expect.stringContaining('3 USD of paid money are left'),
    });
    const rest = ['--rest', 'refund', '--paid-through', 'bank'];
    const closed = await cli('close', accountId, ...why, ...rest, '--id', accountId);
    expect(closed).toMatchObject({ code: 0, err: '' });
    expect(closed.out).toMatch(/^Closed\.\n[^]*rest \(USD\) +3, refund/);
    expect((await cli('list')).out).toMatch(new RegExp(`${accountId}.* closed `));
    expect((await cli('reopen', accountId, ...why)).out).toMatch(/state +active/);
    const reverse = await cli('reverse', accountId, `adjustment:close/${accountId}/rest`);
    expect(reverse.out).toMatch(/^Reversed\.\n[^]*balance \(USD\) +3/);
    await cli('close', accountId, ...why, '--rest', 'breakage');
    expect((await cli('erase', accountId)).out).toMatch(/^Erased\.\n[^]*state +closed/);
  });
});
