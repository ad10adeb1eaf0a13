import { describe, expect, it } from '@jest/globals';
import { createLotAudit } from '../../src/ledger/audit/lots.js';

const DAY_MS = 86_400_000;
const expiresAtMs = Date.UTC(2099, 0, 1);

function auditOf(expiry: number | null) {
  const lots = createLotAudit();
  const expiresAt = expiry === null ? null : new Date(expiry);
  const terms = { source: 'promotional', expiresAt } as const;
  lots.bring([{ lot: 'topup:1', amount: 50n, terms }], 50n);
  return lots;
}

describe('the audit of an expiry', () => {
  // F314: someone moves the expiry of a credit in its row, so that it is taken back too early: the
  // audit reports the expiry, although its amount is right and its entry sealed.
  it.each([
    ['before its time', expiresAtMs, expiresAtMs - 1, 'expires at 2099-01-01T00:00:00.000Z'],
    ['of a credit that does not expire', null, expiresAtMs, 'does not expire'],
  ])('reports one %s', (_name, expiry, createdAtMs, expected) => {
    const lots = auditOf(expiry);
    expect(lots.expire({ delta: -50n, reference: 'topup:1', createdAtMs }).problem).toEqual({
      expected: `topup:1 ${expected}`,
      found: `expired at ${new Date(createdAtMs).toISOString()}`,
    });
  });

  it('accepts one at its time and later, and names one that takes too much or adds', () => {
    const lots = auditOf(expiresAtMs);
    const expire = (delta: bigint, createdAtMs: number) =>
      lots.expire({ delta, reference: 'topup:1', createdAtMs }).problem;
    expect(expire(-20n, expiresAtMs)).toBeUndefined();
    expect(expire(-30n, expiresAtMs + DAY_MS)).toBeUndefined();
    expect(expire(-1n, expiresAtMs + DAY_MS)).toEqual({
      expected: 'above 0 and at most 0 of topup:1',
      found: '1',
    });
    expect(expire(1n, expiresAtMs)?.found).toBe('-1');
  });
});
