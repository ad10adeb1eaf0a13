/** What the reading thread sends about sums of usage. */

import { expect, it } from '@jest/globals';
import { decodeSums, encodeSums } from '../src/embedded/threads/sums-codec.js';
import type { UsageSum } from '../src/index.js';

const rates = {
  inputPerToken: 1n,
  outputPerToken: 2n,
  cacheReadPerToken: 3n,
  cacheWrite5mPerToken: 4n,
  cacheWrite1hPerToken: 5n,
};
const plain: UsageSum = {
  requests: 3,
  usage: {
    inputTokens: 2n ** 80n,
    outputTokens: 1n,
    cacheReadInputTokens: 2n,
    cacheCreationInputTokens: 3n,
    cacheCreation1hInputTokens: 4n,
  },
  listPrice: 10n ** 30n,
  writtenOff: 7n,
  fees: 8n,
  cost: 9n,
  costed: 2,
};
const full: UsageSum = {
  ...plain,
  start: new Date('2026-11-01T00:00:00Z'),
  model: 'model "b" \\ 🙂',
  accountId: 'acct_1',
  keyId: 'key_1',
  endpoint: 'messages',
  upstreamAccount: '',
  rates,
};

it('a sum keeps all its members, and gets no others', () => {
  expect(decodeSums(encodeSums([plain, full]))).toStrictEqual([plain, full]);
});

it('a sum takes few bytes, because the thread that serves requests parses them', () => {
  const { rates: _rates, ...sum } = full;
  const small = { ...sum, model: 'claude-haiku-4-5', usage: { ...sum.usage, inputTokens: 12n } };
  const sums = Array.from({ length: 100 }, () => small);
  expect(encodeSums(sums).length / sums.length).toBeLessThan(180);
});
