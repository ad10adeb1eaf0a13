/** What every memory of responses does. Each implementation passes these tests. */

import { describe, expect, it } from '@jest/globals';
import type { ResponseMemoryLimits } from '../../src/config/config.js';
import { sizeOf } from '../../src/exchange/response-memory/response-memory.js';
import type {
  KeptResponse,
  ResponseMemory,
  ResponseOwner,
} from '../../src/exchange/response-memory/response-memory.js';

export interface OpenedMemory {
  readonly memory: ResponseMemory;
  /** Makes everything that is kept older. */
  readonly age: (ms: number) => Promise<void>;
}

export type OpenMemory = (limits: ResponseMemoryLimits) => OpenedMemory;

const MINUTE = 60_000;
const TTL = { ttlMs: 30 * MINUTE };
const ALICE: ResponseOwner = { accountId: 'acct_1', keyId: 'key_a' };
const BOB: ResponseOwner = { accountId: 'acct_1', keyId: 'key_b' };
const CAROL: ResponseOwner = { accountId: 'acct_2', keyId: 'key_c' };

const kept = (text: string): KeptResponse => ({
  conversation: Buffer.from(`{"items":["${text}"]}`),
  response: Buffer.from(`{"id":"${text}"}`),
});
/** A response that counts this many bytes. */
function ofSize(bytes: number): KeptResponse {
  const empty = { conversation: Buffer.alloc(0), response: Buffer.alloc(0) };
  return { ...empty, conversation: Buffer.alloc(bytes - sizeOf(empty), 'x') };
}

export function describeResponseMemory(name: string, open: OpenMemory): void {
  describe(name, () => {
    let memory: ResponseMemory;
    let age: OpenedMemory['age'];
    const opened = (maxBytes: number): void => {
      ({ memory, age } = open({ ...TTL, maxBytes }));
    };

    async function idsOf(owner: ResponseOwner, ids: readonly string[]): Promise<string[]> {
      const found = await memory.recallResponses(owner, ids);
      return ids.filter((_id, index) => found[index] !== undefined);
    }
    const measure = async (owner: ResponseOwner, id: string) =>
      (await memory.measure(owner, [id]))[0];
    const recall = async (owner: ResponseOwner, id: string) =>
      (await memory.recall(owner, [id]))[0];
    const recallResponse = async (owner: ResponseOwner, id: string) =>
      (await memory.recallResponses(owner, [id]))[0];

    it('returns what it keeps, byte for byte, to the key that made it and to no other', async () => {
      opened(1_000_000);
      const response = { ...kept('ä\u0000☃'), response: Buffer.from([0, 255, 10, 13, 128]) };
      expect(await memory.remember(ALICE, 'resp_1', response)).toBe('kept');
      const recalled = await recall(ALICE, 'resp_1');
      expect(Buffer.from(recalled!.conversation)).toEqual(response.conversation);
      expect(Buffer.from(recalled!.response)).toEqual(response.response);
      expect(Buffer.from((await recallResponse(ALICE, 'resp_1'))!)).toEqual(response.response);
      expect(await measure(ALICE, 'resp_1')).toEqual({
        conversation: response.conversation.length,
        response: 5,
      });
      for (const other of [BOB, CAROL, { ...ALICE, keyId: 'key_' }]) {
        expect(await measure(other, 'resp_1')).toBe(undefined);
        expect(await recall(other, 'resp_1')).toBe(undefined);
        expect(await recallResponse(other, 'resp_1')).toBe(undefined);
        expect(await memory.forget(other, 'resp_1')).toBe(false);
      }
      expect(await recall(ALICE, 'resp_2')).toBe(undefined);
      expect(await recall(ALICE, 'resp_1')).toBeDefined();
    });

    it('finds all that are asked for together, in their order', async () => {
      opened(1_000_000);
      for (const id of ['resp_1', 'resp_2', 'resp_3']) {
        await memory.remember(ALICE, id, kept(id.repeat(3)));
      }
      const ids = ['resp_3', 'resp_x', 'resp_1'];
      const [third, missing, first] = await memory.recall(ALICE, ids);
      expect(String(third?.response)).toBe('{"id":"resp_3resp_3resp_3"}');
      expect(missing).toBe(undefined);
      expect(String(first?.conversation)).toBe('{"items":["resp_1resp_1resp_1"]}');
      const responses = await memory.recallResponses(ALICE, ids);
      expect(responses.map((text) => text && String(text))).toEqual([
        '{"id":"resp_3resp_3resp_3"}',
        undefined,
        '{"id":"resp_1resp_1resp_1"}',
      ]);
      expect(await memory.recall(BOB, ids)).toEqual([undefined, undefined, undefined]);
      const size = { conversation: 32, response: 27 };
      expect(await memory.measure(ALICE, ids)).toEqual([size, undefined, size]);
      // The first that is needed and missing ends the list.
      expect(await memory.measure(ALICE, ids, 1)).toEqual([size, undefined, size]);
      expect(await memory.measure(ALICE, ids, 2)).toEqual([size]);
    });

    it('begins the time of each response of a call again', async () => {
      opened(1_000_000);
      const ids = Array.from({ length: 20 }, (_, i) => `resp_${String(i)}`);
      for (const id of ids) await memory.remember(ALICE, id, kept(id));
      await age(20 * MINUTE);
      expect(await idsOf(ALICE, ids.slice(0, 19))).toHaveLength(19);
      await age(20 * MINUTE);
      expect(await idsOf(ALICE, ids)).toEqual(ids.slice(0, 19));
    });

    it('replaces a response with the same id', async () => {
      opened(10_000);
      for (let i = 0; i < 20; i += 1) await memory.remember(ALICE, 'resp_1', ofSize(3_000));
      await memory.remember(ALICE, 'resp_1', kept('last'));
      expect(String(await recallResponse(ALICE, 'resp_1'))).toBe('{"id":"last"}');
    });

    it('forgets a response when its time is over, which begins again with each use', async () => {
      opened(1_000_000);
      await memory.remember(ALICE, 'resp_1', kept('1'));
      await memory.remember(ALICE, 'resp_2', kept('2'));
      await age(20 * MINUTE);
      expect(await recall(ALICE, 'resp_2')).toBeDefined();
      await age(9 * MINUTE);
      expect(await idsOf(ALICE, ['resp_2'])).toEqual(['resp_2']);
      await age(MINUTE);
      expect(await idsOf(ALICE, ['resp_1', 'resp_2'])).toEqual(['resp_2']);
      expect(await memory.forget(ALICE, 'resp_1')).toBe(false);
      await age(30 * MINUTE);
      expect(await recall(ALICE, 'resp_2')).toBe(undefined);
    });

    it('forgets one response, those of a key, or those of an account', async () => {
      opened(1_000_000);
      for (const owner of [ALICE, BOB, CAROL]) {
        for (const id of ['resp_1', 'resp_2', 'resp_3']) await memory.remember(owner, id, kept(id));
      }
      const all = ['resp_1', 'resp_2', 'resp_3'];
      expect(await memory.forget(ALICE, 'resp_2')).toBe(true);
      expect(await memory.forget(ALICE, 'resp_2')).toBe(false);
      expect(await idsOf(ALICE, all)).toEqual(['resp_1', 'resp_3']);
      await memory.forgetAll(ALICE);
      expect(await idsOf(ALICE, all)).toEqual([]);
      expect(await idsOf(BOB, all)).toEqual(all);
      await memory.forgetAll({ accountId: 'acct_1' });
      expect(await idsOf(BOB, all)).toEqual([]);
      expect(await idsOf(CAROL, all)).toEqual(all);
      await memory.forgetAll({ accountId: 'acct_3' });
      expect(await idsOf(CAROL, all)).toEqual(all);
    });

    it('makes room by forgetting what the account used least recently, whichever of its keys made it', async () => {
      opened(50_000);
      const all = ['resp_1', 'resp_2', 'resp_3', 'resp_4', 'resp_5'];
      for (const id of all) {
        expect(await memory.remember(ALICE, id, ofSize(10_000))).toBe('kept');
      }
      await recall(ALICE, 'resp_1');
      expect(await memory.remember(BOB, 'resp_6', ofSize(10_000))).toBe('kept');
      expect(await idsOf(ALICE, all)).toEqual(['resp_1', 'resp_3', 'resp_4', 'resp_5']);
      expect(await idsOf(BOB, ['resp_6'])).toEqual(['resp_6']);
    });

    // F223: there is too little memory for all responses: the account with the most forgets its
    // least recently used; no account loses its equal part.
    it('never takes the equal part of an account for another', async () => {
      opened(100_000);
      const ids = Array.from({ length: 30 }, (_, i) => `resp_${String(i)}`);
      const add = async (owner: ResponseOwner): Promise<void> => {
        for (const id of ids) {
          expect(await memory.remember(owner, id, ofSize(10_000))).toBe('kept');
        }
      };
      await add(ALICE);
      expect(await idsOf(ALICE, ids)).toEqual(ids.slice(-10));
      await add(CAROL);
      expect(await idsOf(ALICE, ids)).toEqual(ids.slice(-5));
      expect(await idsOf(CAROL, ids)).toEqual(ids.slice(-5));
      await add({ accountId: 'acct_3', keyId: 'key_d' });
      expect((await idsOf(ALICE, ids)).length).toBeGreaterThanOrEqual(3);
      expect((await idsOf(CAROL, ids)).length).toBeGreaterThanOrEqual(3);
      // Twice the equal part, in one response.
      expect(await memory.remember(BOB, 'resp_large', ofSize(50_000))).toBe('no_room');
    });

    // F403: no request comes until every kept response has expired: their bytes are not counted.
    it('keeps no response that is more than half of the memory, or more than any other account has', async () => {
      opened(100_000);
      expect(await memory.remember(ALICE, 'resp_1', ofSize(50_001))).toBe('no_room');
      for (let i = 0; i < 9; i += 1) {
        const owner = { accountId: `acct_1${String(i)}`, keyId: `key_1${String(i)}` };
        expect(await memory.remember(owner, 'resp_1', ofSize(10_000))).toBe('kept');
      }
      expect(await memory.remember(CAROL, 'resp_2', ofSize(10_001))).toBe('no_room');
      expect(await memory.remember(CAROL, 'resp_2', ofSize(10_000))).toBe('kept');
      // What has expired or was forgotten takes no room.
      await memory.forgetAll({ accountId: 'acct_10' });
      await memory.forgetAll(CAROL);
      expect(await memory.remember(CAROL, 'resp_3', ofSize(20_000))).toBe('kept');
      await age(30 * MINUTE);
      for (const owner of [BOB, CAROL]) {
        expect(await memory.remember(owner, 'resp_4', ofSize(50_000))).toBe('kept');
      }
      expect(await idsOf(BOB, ['resp_4'])).toEqual(['resp_4']);
    });

    it('counts exactly, whatever happens', async () => {
      opened(100_000);
      const ids = ['resp_1', 'resp_2', 'resp_3', 'resp_4'];
      for (let step = 0; step < 200; step += 1) {
        await age(7 * MINUTE);
        const owner = [ALICE, BOB, CAROL][step % 3]!;
        const id = ids[step % ids.length]!;
        await memory.remember(owner, id, ofSize(1_000 + ((step * 7_919) % 40_000)));
        if (step % 5 === 0) await memory.forget(owner, ids[(step + 1) % ids.length]!);
        if (step % 11 === 0) await recall(owner, ids[(step + 2) % ids.length]!);
        if (step % 23 === 0) await memory.forgetAll(BOB);
      }
      await memory.forgetAll({ accountId: 'acct_1' });
      await memory.forgetAll({ accountId: 'acct_2' });
      // If anything were counted that is not there, one of these would be forgotten.
      expect(await memory.remember(ALICE, 'resp_1', ofSize(50_000))).toBe('kept');
      expect(await memory.remember(CAROL, 'resp_1', ofSize(50_000))).toBe('kept');
      expect(await idsOf(ALICE, ['resp_1'])).toEqual(['resp_1']);
      // If less were counted than there is, both would stay.
      expect(await memory.remember(CAROL, 'resp_2', ofSize(10_000))).toBe('kept');
      expect(await idsOf(CAROL, ['resp_1', 'resp_2'])).toEqual(['resp_2']);
    });
  });
}
