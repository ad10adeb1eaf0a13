/** Changes of a key that an operator, a holder or another process makes. */

import { randomUUID } from 'node:crypto';
import type { BalanceStore } from '../src/index.js';
import { settlement } from '../src/testing/index.js';

export const CHANGES = ['topUp', 'adjust', 'settle', 'suspend', 'resume', 'cap'] as const;

export interface GuestCommand {
  readonly does: (typeof CHANGES)[number];
  readonly keyId: string;
  /** Up to 1 USD, in units of 10^-14 USD. A charge is for as many tokens as it has milliards. */
  readonly units: string;
}

const BY = { name: 'tests' };

export async function perform(
  store: BalanceStore,
  { does, keyId, units }: GuestCommand,
): Promise<void> {
  const amount = BigInt(units);
  switch (does) {
    case 'topUp':
      await store.topUp({ topUpId: randomUUID(), to: { keyId }, amount, by: BY });
      return;
    case 'adjust': {
      const accountId = (await store.getKey(keyId))?.accountId ?? '';
      const adjustmentId = randomUUID();
      await store.adjust({
        adjustmentId,
        accountId,
        amount: -amount,
        reason: 'correction',
        by: BY,
      });
      return;
    }
    case 'settle': {
      const usage = { inputTokens: Number(amount / 1_000_000_000n) };
      const settled = await store.settle(settlement(keyId, { usage }), { deadlineMs: 20_000 });
      if (settled.outcome !== 'settled') throw new Error(settled.outcome);
      return;
    }
    case 'suspend':
      await store.suspendKey(keyId);
      return;
    case 'resume':
      await store.resumeKey(keyId);
      return;
    case 'cap':
      await store.updateKey(keyId, { caps: { day: amount } });
      return;
  }
}
