/** The charges of a response that has a part with a ledger entry of its own. */

import { beforeEach, expect, it, jest } from '@jest/globals';
import type { SettleOutcome } from '@gateway/balance-store';
import { defaultPriceTableJson, parsePriceTable } from '@gateway/billing';
import { pino } from 'pino';
import { chargesOf } from '../../src/cli/witness-file.js';
import { settleCharge } from '../../src/exchange/relay/settle-charge.js';
import type { SettleParts } from '../../src/exchange/relay/relay-parts.js';
import { boundOfModel } from '../../src/ledger/usage-bound.js';
import type { ExchangeReport } from '../../src/observe/exchange-report.js';
import { createTelemetry } from '../../src/observe/telemetry.js';

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
  balance: 7n,
  isActive: true,
  writtenOff: 0n,
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
    model: undefined,
    streamed: false,
  };
  const exchange = {
    requestId: 'req_1',
    keyId: 'key_1',
    spender: undefined,
    price,
    prices,
    isModelOpen: false,
    usageBound: boundOfModel(price),
    unknownMembers: [],
    call: { account: 'main' },
    format: { dialect: 'messages' as const },
  };
  const settleTogether = (settlements: Parameters<typeof settle>[0][]) =>
    Promise.all(settlements.map((each) => settle(each)));
  const settling = { store: { settleTogether }, overdraft: 'bounded' } as unknown as SettleParts;
  return settleCharge(response, exchange, settling);
}

it('counts a part as set aside if the ledger refuses that part but settles the message', async () => {
  settle.mockResolvedValueOnce(SETTLED).mockResolvedValueOnce(QUARANTINED);
  const settled = await charge();
  expect(settled).toMatchObject({ outcome: 'charged', balance: 7n, setAside: 1 });
  expect(settle.mock.calls.map(([{ requestId }]) => requestId)).toEqual(['req_1', 'req_1.2']);
});

it('reports the response as lost if the ledger refuses the message itself', async () => {
  settle.mockResolvedValueOnce(QUARANTINED).mockResolvedValueOnce(SETTLED);
  expect(await charge()).toMatchObject({ outcome: 'lost', loss: 'ledger_refused' });
});

it("logs the part's own charge, so that both charges can be read from the log", async () => {
  settle
    .mockResolvedValueOnce(SETTLED)
    .mockResolvedValueOnce({ ...SETTLED, outcome: 'settled', writtenOff: 5_000_000_000n });
  const settled = await charge();
  if (settled.outcome === 'lost') throw new Error('the response was not charged');
  let line = '';
  const write = (text: string): void => {
    line = text;
  };
  const log = pino({ timestamp: pino.stdTimeFunctions.isoTime }, { write });
  const telemetry = createTelemetry(log, { observe: () => undefined });
  telemetry.requestFinished({
    requestId: 'req_1',
    keyId: 'key_1',
    model: 'claude-opus-4-5',
    endpoint: 'messages',
    status: 200,
    durationMs: 90_000,
    report: {
      charged: settled,
      streamed: false,
      clientLeft: false,
      loss: undefined,
    } as unknown as ExchangeReport,
  });
  const logged = JSON.parse(line);
  // The message and the part cost 0.00055 USD each: 10 tokens at 5 USD per million, and 20 at 25
  // USD. Of the part, 0.00005 are written off.
  expect(logged).toMatchObject({ charge_usd: '0.00105', written_off_usd: '0.00005' });
  const more = { key_id: 'key_1', model: 'claude-opus-4-5', endpoint: 'messages', streamed: false };
  const at = new Date(Date.parse(logged.time) - 90_000).toISOString();
  expect(chargesOf(logged, 'log:1')).toMatchObject([
    {
      usage: { request_id: 'req_1', output_tokens: 20, charge_usd: '0.00055' },
      more: { ...more, at },
    },
    {
      usage: { request_id: 'req_1.2', output_tokens: 20, charge_usd: '0.0005' },
      more: { ...more, at, written_off_usd: '0.00005' },
    },
  ]);
});
