/** The trail as sentences. */

import { describe, expect, it } from '@jest/globals';
import { sentenceOf } from '../../src/console/trail-sentence.js';

const NAMES: Readonly<Record<string, string>> = {
  acct_1: 'Northwind',
  acct_2: 'Aster',
  key_1: 'ci',
};
const nameOf = (id: string) => NAMES[id] ?? id;

const sentence = (
  action: string,
  details: Readonly<Record<string, unknown>>,
  of: { readonly key?: true; readonly personal?: Readonly<Record<string, unknown>> } = {},
) =>
  sentenceOf(
    {
      action,
      account_id: 'acct_1',
      key_id: of.key === true ? 'key_1' : null,
      details,
      personal: of.personal ?? null,
    },
    nameOf,
  );

const change = (before: unknown, after: unknown) => ({ before, after });

describe('a sentence of the trail', () => {
  it('says which cap of which key was changed, and by how much', () => {
    const of = 'cap_day_key_1';
    const amount = change('5.00000000000000', '7.00000000000000');
    expect(sentence('budget.update', { of, amount }, { key: true })).toBe(
      'Daily cap of key ci: 5 → 7 USD',
    );
    const first = { of, scope: 'key', amount: '1234.50000000000000', is_cap: true };
    expect(sentence('budget.create', first, { key: true })).toBe(
      'Daily cap of key ci: 1,234.5 USD',
    );
    const ended = { of, ended_seq: change(null, '9') };
    expect(sentence('budget.end', ended, { key: true })).toBe('Daily cap of key ci removed');
  });

  it('names each value that was changed, and none that only audits need', () => {
    const details = {
      burst: change(100, 12_000),
      expires_at: change(null, '2026-12-09T00:00:00.000Z'),
      operator_bounds: { is_suspended: false },
    };
    expect(sentence('key.update', details, { key: true })).toBe(
      'Burst of key ci: 100 → 12,000; Expires at of key ci: never → Dec 9, 2026',
    );
    const personal = { externalId: change('crm-1', null) };
    expect(sentence('account.update', {}, { personal })).toBe(
      'External id of account Northwind: crm-1 → none',
    );
    const settings = { low_balance: change(null, '5.00000000000000') };
    expect(sentence('account.update', settings)).toBe(
      'Low balance of account Northwind: none → 5 USD',
    );
  });

  it('says where money went, to the last digit', () => {
    const given = { amount: '0.00000000000003', source: 'paid' };
    expect(sentence('credit.add', given)).toBe(
      'Credit of 0.00000000000003 USD for account Northwind, paid',
    );
    expect(sentence('balance.adjust', { amount: '-5.00000000000000', reason: 'refund' })).toBe(
      'Correction of −5 USD for account Northwind, refund',
    );
    expect(sentence('balance.transfer', { amount: '9.10000000000000', to: 'acct_2' })).toBe(
      '9.1 USD from account Northwind to account Aster',
    );
  });

  it('says what became of keys, members and settings', () => {
    expect(sentence('key.revoke', { state: change('active', 'revoked') }, { key: true })).toBe(
      'Revoked key ci',
    );
    const hint = change('gw_aaaa…bbbb', 'gw_cccc…dddd');
    expect(sentence('key.rotate', { hint, credential_digest: 'f00' }, { key: true })).toBe(
      'New credential of key ci: gw_aaaa…bbbb → gw_cccc…dddd',
    );
    expect(sentence('group.create', { of: 'group_1' }, { personal: { name: 'Databases' } })).toBe(
      'Created group Databases of account Northwind',
    );
    expect(sentence('settings.change', { PRICES: change(null, 'list') })).toBe(
      'Setting PRICES: none → list',
    );
  });

  it('has words for an action that it does not know', () => {
    expect(sentence('month.close', { month: '2026-11' })).toBe('Month close: account Northwind');
  });
});
