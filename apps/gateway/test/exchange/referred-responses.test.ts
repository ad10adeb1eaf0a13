/** Which kept responses a request refers to, found in its bytes. */

import { describe, expect, it } from '@jest/globals';
import { newRefusal } from '../../src/base/errors/refusal.js';
import type { Refusal } from '../../src/base/errors/refusal.js';
import {
  recallReferred,
  responsesNamedIn,
  storedFor,
} from '../../src/exchange/response-memory/referred-responses.js';
import type {
  KeptResponse,
  ResponseMemory,
} from '../../src/exchange/response-memory/response-memory.js';

const OWNER = { accountId: 'acct_1', keyId: 'key_1' };
const kept = (id: string): KeptResponse => ({
  conversation: Buffer.from('{"items":[{"role":"user","content":"Hi"}]}'),
  response: Buffer.from(`{"id":"${id}","output":[{"id":"${id.replace('resp', 'msg')}_0"}]}`),
});

/** A memory that has every response, and remembers what it was asked for in each call. */
function openMemory() {
  const asked = {
    measured: [] as string[],
    recalled: [] as string[],
    responses: [] as string[],
    calls: 0,
  };
  const memory: ResponseMemory = {
    remember: () => Promise.resolve('kept'),
    measure(_owner, ids) {
      asked.calls += 1;
      asked.measured.push(...ids);
      return Promise.resolve(ids.map(() => ({ conversation: 100, response: 10 })));
    },
    recall(_owner, ids) {
      asked.calls += 1;
      asked.recalled.push(...ids);
      return Promise.resolve(ids.map(kept));
    },
    recallResponses(_owner, ids) {
      asked.calls += 1;
      asked.responses.push(...ids);
      return Promise.resolve(ids.map((id) => kept(id).response));
    },
    forget: () => Promise.resolve(false),
    forgetAll: () => Promise.resolve(),
    close: () => undefined,
  };
  return { asked, memory };
}

function referencesIn(body: string) {
  const references = responsesNamedIn(Buffer.from(body));
  if ('refusal' in references) throw new Error('it refers to too many');
  return references;
}

async function recallFor(body: string, refusal?: Refusal) {
  const { asked, memory } = openMemory();
  const reserved: number[] = [];
  const references = referencesIn(body);
  const recall = await recallReferred(references, OWNER, memory, (bytes) => {
    reserved.push(bytes);
    return refusal;
  });
  return { ...asked, reserved, recall };
}

const NOTHING = { measured: [], recalled: [], responses: [], reserved: [] };

describe('recallReferred', () => {
  it('looks up nothing for a request that refers to nothing', async () => {
    const input = [
      { id: 'msg_a_0', type: 'message', content: 'a' },
      { content: '"previous_response_id": "resp_a", "item_reference"' },
    ];
    for (const body of ['', '{}', JSON.stringify({ input }), JSON.stringify({ input: 'resp_a' })]) {
      expect(await recallFor(body)).toMatchObject(NOTHING);
    }
  });

  it('reserves memory for the response that is continued, then reads it', async () => {
    const found = await recallFor('{"input":"ä", "previous_response_id" : "resp_a-_1"}');
    const once = ['resp_a-_1'];
    expect(found).toMatchObject({ measured: once, recalled: once, reserved: [110], responses: [] });
    if (found.recall.outcome === 'refused') throw new Error('refused');
    const request = { previous_response_id: 'resp_a-_1' };
    expect(storedFor(request, found.recall.recalled)).toEqual({
      items: new Map(),
      previous: [{ role: 'user', content: 'Hi' }, { id: 'msg_a-_1_0' }],
    });
    expect(storedFor({ previous_response_id: 'resp_b' }, found.recall.recalled)).toEqual({
      items: new Map(),
    });
    expect(storedFor({ previous_response_id: null }, found.recall.recalled)).toEqual({
      items: new Map(),
    });
  });

  it('reads each response once to whose items the input refers, without its conversation', async () => {
    const ids = ['msg_a_0', 'rs_a_1', 'fc_b_0', 'ctc_b_1', 'odd', 'msg_c_x'];
    const input = ids.map((id) => ({ type: 'item_reference', id }));
    const found = await recallFor(JSON.stringify({ input }));
    expect(found).toMatchObject({ reserved: [20], recalled: [] });
    expect(found.responses).toEqual(['resp_a', 'resp_b']);
    if (found.recall.outcome === 'refused') throw new Error('refused');
    const { items } = storedFor({}, found.recall.recalled);
    expect([...items.keys()]).toEqual(['msg_a_0', 'msg_b_0']);
  });

  it('finds references without a type', async () => {
    const input = [{ id: 'rs_a_1', type: 'reasoning' }, { id: 'msg_b_0' }];
    expect((await recallFor(JSON.stringify({ input }))).responses).toEqual(['resp_a', 'resp_b']);
    const whole = [{ id: 'rs_a_1', type: 'reasoning' }, { content: '{"id":"msg_b_0"}' }];
    expect(await recallFor(JSON.stringify({ input: whole }))).toMatchObject(NOTHING);
  });

  it('reads nothing if there is no memory for it', async () => {
    const refusal = newRefusal('memory_full');
    const found = await recallFor('{"previous_response_id":"resp_a"}', refusal);
    expect(found).toMatchObject({ recall: { outcome: 'refused', refusal }, recalled: [] });
  });

  // F228: a body consists of references: a limited number is looked up, without building what the
  // body contains.
  it('looks up a limited number of responses in a few calls, however many ids a body has', async () => {
    const input = Array.from({ length: 30_000 }, (_, i) => ({
      id: `msg_${String(i)}_0`,
      previous_response_id: `resp_${String(i)}`,
    }));
    const found = await recallFor(`{"type":"item_reference","input":${JSON.stringify(input)}}`);
    expect(found.recalled).toHaveLength(4);
    expect(found.responses).toHaveLength(500);
    expect(found.calls).toBe(4);
  });

  // F392
  it('knows which items are surely references, in whichever order their members are', () => {
    const written = [
      '{"type":"item_reference","id":"msg_a_0"}',
      '{ "id" : "msg_b_0" ,\n"type": "item_reference" }',
      '{"type" :\t"item_reference" , "id":"fc_c_0","x":1}',
    ];
    const unsure = [
      '{"id":"msg_d_0"}',
      '{"id":"msg_e_0","type":"message"}',
      '{"id":"msg_f_0","x":1,"type":"item_reference"}',
      '{"type":"item_reference","x":{"id":"msg_g_0"}}',
    ];
    expect(referencesIn(`[${[...unsure, ...written].join(',')}]`)).toEqual({
      continued: [],
      referred: ['resp_a', 'resp_b', 'resp_c', 'resp_d', 'resp_e', 'resp_f', 'resp_g'],
      needed: 3,
    });
  });

  // F392
  it('refuses references to more than 500 responses before it looks', () => {
    const input = (count: number) =>
      JSON.stringify(
        Array.from({ length: count }, (_, i) => ({
          type: 'item_reference',
          id: `msg_${String(i >> 1)}_${String(i % 2)}`,
        })),
      );
    expect(referencesIn(input(1_000)).needed).toBe(500);
    expect(responsesNamedIn(Buffer.from(input(1_001)))).toMatchObject({
      refusal: { status: 400, param: 'input', message: expect.stringContaining('500 responses') },
    });
  });
});
