/** `rechargeUsages` refuses invalid records of lost charges. */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
let keyId: string;

beforeAll(async () => {
  gateway = await startTestGateway();
  keyId = (await gateway.call('createKey', { name: 'lost', balance_usd: '1' })).id;
});
afterAll(() => gateway.stop());

// F211
it.each([
  [{ written_off_usd: '060' }, 'written_off_usd: USD amount "060" has leading zeros'],
  [{ charge_usd: '-1' }, 'charge_usd: must be at least 0'],
  [{ request_id: 'msg_1' }, 'request_id: must be a request id of the gateway'],
  [{ request_id: 'resp_req_1' }, 'request_id: must be a request id of the gateway'],
  [{ request_id: 'chatcmpl-msg_1' }, 'request_id: must be a request id of the gateway'],
  [{ request_id: 'req_\ud9e4' }, 'request_id: must not contain half of a surrogate pair'],
  [{ model: 'a\u0007' }, 'model: must not contain control characters or invisible ones'],
  [{ at: '0000-01-01T00:00:00Z' }, 'at: must be within the years 1 to 9999'],
])(
  'a lost charge with %j is refused; the message names the field, and nothing is charged',
  async (wrong, problem) => {
    const charge = {
      request_id: 'req_lost',
      key_id: keyId,
      model: 'claude-sonnet-4-6',
      input_tokens: 1,
      output_tokens: 1,
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
      ...wrong,
    };
    await expect(gateway.call('rechargeUsages', { charges: [charge] })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(`charges.0.${problem}`),
    });
    const { data } = await gateway.call('listLedger', { kind: 'charge' });
    expect(data).toEqual([]);
  },
);
