/** Usage that an SDK received, read from any of its forms and compared with the ledger. */

import { describe, expect, it } from '@jest/globals';
import { compareUsages } from '../../src/customer/comparison.js';
import { readReceived } from '../../src/shared/money/received-usage.js';
import type { Charge } from '../../src/customer/comparison.js';

const NATIVE = {
  id: 'msg_1',
  usage: {
    input_tokens: 10,
    output_tokens: 5,
    cache_read_input_tokens: 3,
    cache_creation_input_tokens: 2,
  },
};
const CHAT = {
  id: 'chatcmpl-msg_1',
  usage: {
    prompt_tokens: 15,
    completion_tokens: 5,
    prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
  },
};
const RESPONSES = {
  id: 'resp_1',
  usage: {
    input_tokens: 15,
    output_tokens: 5,
    input_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
  },
};
const TOKENS = { input: 10, output: 5, cacheRead: 3, cacheWrite: 2 };

function charge(id: string, input = 10): Charge {
  return {
    request_id: `req_${id}`,
    upstream_id: `msg_${id}`,
    usage: { ...NATIVE.usage, input_tokens: input, cache_creation_1h_input_tokens: 0 },
  };
}

describe('received usage', () => {
  it('is read in every API format, as one object, as an array, and as one object per line', () => {
    for (const item of [NATIVE, CHAT, RESPONSES]) {
      for (const text of [
        JSON.stringify(item),
        JSON.stringify([item], null, 2),
        `${JSON.stringify(item)}\n\n`,
      ]) {
        const usage = { id: '1', givenId: item.id, tokens: TOKENS };
        expect(readReceived(text)).toEqual({ usages: [usage], problems: [] });
      }
    }
    const lines = [NATIVE, CHAT].map((item) => JSON.stringify(item)).join('\n');
    expect(readReceived(lines).usages).toHaveLength(2);
  });

  it('may lack an id if the caller knows it', () => {
    const text = JSON.stringify(NATIVE.usage);
    expect(readReceived(text, 'req_7').usages).toEqual([
      { id: 'req_7', givenId: 'req_7', tokens: TOKENS },
    ]);
    expect(readReceived(text).problems).toHaveLength(1);
  });

  it('of one request has the id that it names as request_id, else the given one, never the id of its message', () => {
    const idOf = (item: object, requestId: string) =>
      readReceived(JSON.stringify(item), requestId).usages[0]?.givenId;
    for (const item of [NATIVE, CHAT, RESPONSES]) {
      expect(idOf(item, 'req_7')).toBe('req_7');
      expect(idOf({ ...item, request_id: 'req_8' }, 'req_7')).toBe('req_8');
      expect(readReceived(JSON.stringify(item), '')).toEqual({
        usages: [],
        problems: ['1: has no id of a request'],
      });
    }
    expect(idOf({ ...NATIVE, id: 'req_9' }, '')).toBe('req_9');
  });

  it('that cannot be read is named by its line, and the rest is read', () => {
    const lines = ['{"id":"msg_2"}', 'no json', '', JSON.stringify(NATIVE), ' ', '{"usage":{}}'];
    const text = lines.join('\n');
    expect(readReceived(text)).toEqual({
      usages: [{ id: '1', givenId: 'msg_1', tokens: TOKENS }],
      problems: [
        '1: has no usage with token counts',
        '2: is not a JSON object',
        '6: has neither id nor request_id',
      ],
    });
  });
});

describe('a comparison with the ledger', () => {
  const usage = { id: '1', givenId: '1', tokens: TOKENS };

  it('finds a charge by the id of its request and of its message', () => {
    for (const id of ['1', 'req_1']) {
      const compared = compareUsages([{ ...usage, id }], [charge('1'), charge('2')], true);
      expect(compared).toEqual({ compared: 1, unknown: 0, differences: [], others: 1 });
    }
  });

  it('reports different counts, a missing charge and a repeated usage', () => {
    expect(compareUsages([usage], [charge('1', 11)], true).differences).toEqual([
      {
        id: '1',
        received: 'input 10, output 5, cache read 3, cache write 2',
        charged: 'input 11, output 5, cache read 3, cache write 2',
      },
    ]);
    expect(compareUsages([usage], [], true).differences).toMatchObject([
      { charged: 'no charge in these days' },
    ]);
    expect(compareUsages([usage, usage], [charge('1')], true).differences).toMatchObject([
      { charged: 'the same request as an earlier one' },
    ]);
  });

  it('does not report a usage as uncharged if not all charges were read', () => {
    const [unread, changed] = [{ ...usage, id: '2' }, usage];
    const compared = compareUsages([unread, changed], [charge('1', 11)], false);
    expect(compared).toMatchObject({ compared: 1, unknown: 1, differences: [{ id: '1' }] });
  });
});
