/** The charge of a response of which the ledger refuses a part. */

import { beforeEach, expect, it, jest } from '@jest/globals';
import type { SettleOutcome } from '@gateway/balance-store';
import { defaultPriceTableJson, parsePriceTable } from '@gateway/billing';
import { settleCharge } from '../src/relay/settle-charge.js';
import type { SettleServices } from '../src/relay/settle-charge.js';

const USAGE = {
  inputTokens: 10,
  outputTokens: 20,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
  cacheCreation1hInputTokens: 0,
  thinkingTokens: 0,
};
const SETTLED: SettleOutcome = {
  outcome: 'settled',
  ...{ balance: 7n, isActive: true, writtenOff: 0n },
};
const QUARANTINED: SettleOutcome = { outcome: 'quarantined', reason: 'malformed' };

const settle = jest.fn<(settlement: { readonly requestId: string }) => Promise<SettleOutcome>>();
beforeEach(() => {
  settle.mockReset();
});

function charge() {
  const prices = parsePriceTable(defaultPriceTableJson);
  const price = prices.find('claude-opus-4-5');
  if (price === undefined) throw new Error('the table lacks the model');
  const response = {
    usage: {
      outcome: 'read' as const,
      usage: USAGE,
      uncounted: [{ kind: 'advisor_message', model: undefined, usage: USAGE }],
    },
    messageId: 'msg_1',
    streamed: false,
  };
  const exchange = {
    ...{ requestId: 'req_1', keyId: 'key_1', price, prices },
    ...{ call: { account: 'main' }, format: { dialect: 'messages' as const } },
  };
  const services = { store: { settle }, overdraft: 'bounded' } as unknown as SettleServices;
  return settleCharge(response, exchange, services);
}

it('counts the part as set aside, because the message itself is charged', async () => {
  settle.mockResolvedValueOnce(SETTLED).mockResolvedValueOnce(QUARANTINED);
  const settled = await charge();
  expect(settled).toMatchObject({ outcome: 'charged', balance: 7n, setAside: 1 });
  expect(settle.mock.calls.map(([{ requestId }]) => requestId)).toEqual(['req_1', 'req_1.2']);
});

it('is lost if the part is the message itself', async () => {
  settle.mockResolvedValueOnce(QUARANTINED).mockResolvedValueOnce(SETTLED);
  expect(await charge()).toMatchObject({ outcome: 'lost', loss: 'ledger_refused' });
});
