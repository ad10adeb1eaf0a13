/** Large requests are prepared in a worker thread: the same outcome, one key after the other. */

import { afterEach, describe, expect, it } from '@jest/globals';
import { defaultPriceTable } from '@gateway/billing';
import type { ModelPrice } from '@gateway/billing';
import { createPreparer } from '../src/preparation/prepare-request.js';
import type {
  Preparation,
  PreparationJob,
  PreparationRules,
} from '../src/preparation/prepare-request.js';
import { createRequestPreparer } from '../src/preparation/preparer.js';
import type { RequestPreparer } from '../src/preparation/preparer.js';
import { MODEL } from './support/gateway.js';
import { NO_LIMITS } from './support/no-limits.js';

const MEBIBYTE = 1024 * 1024;
const RULES: PreparationRules = {
  models: defaultPriceTable().list(),
  allow: new Set(),
  overdraft: 'none',
};

const open: RequestPreparer[] = [];
/**
 * `npm test` builds the worker thread before it tests; alone, this suite needs `npm run build`
 * first.
 */
function openPreparer({
  rules = RULES,
  ...options
}: { readonly rules?: PreparationRules; readonly heapMegabytes?: number } = {}): RequestPreparer {
  const preparer = createRequestPreparer(rules, { maxBodyBytes: 32 * MEBIBYTE, ...options });
  open.push(preparer);
  return preparer;
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((preparer) => preparer.close()));
});

function jobOf(format: PreparationJob['format'], body: unknown): PreparationJob {
  const bytes = Buffer.from(JSON.stringify(body));
  return { format, body: new Uint8Array(bytes), hasLongContext: false };
}

const manyMessages = (count: number, text = 'Hello') => ({
  model: MODEL,
  max_tokens: 100,
  messages: Array.from({ length: count }, (_, n) => ({
    role: n % 2 === 0 ? 'user' : 'assistant',
    content: [{ type: 'text', text }],
  })),
});
const tool = (n: number) => ({
  type: 'function',
  function: { name: `tool ${String(n)}`, parameters: { type: 'object', properties: {} } },
});

describe('a request is prepared in a thread of its own', () => {
  it.each<[string, PreparationJob['format'], unknown, boolean]>([
    ['not with few values, native', 'messages', manyMessages(5_000), false],
    ['with many values, native', 'messages', manyMessages(10_000), true],
    ['not with a few megabytes, native', 'messages', manyMessages(1, 'x'.repeat(4_000_000)), false],
    ['with more, native', 'messages', manyMessages(1, 'x'.repeat(5_000_000)), true],
    ['to count many values', 'count_tokens', manyMessages(10_000), true],
    ['not with few values, chat', 'chat.completions', manyMessages(1_000), false],
    ['with many values, chat', 'chat.completions', manyMessages(2_000), true],
    ['with a megabyte, chat', 'chat.completions', manyMessages(1, 'x'.repeat(1_100_000)), true],
    ['to be refused', 'messages', { ...manyMessages(10_000), temperature: 'hot' }, true],
    ['to be refused, chat', 'chat.completions', { ...manyMessages(2_000), model: 'm' }, true],
    [
      'with tools and notes',
      'chat.completions',
      { ...manyMessages(2_000), tools: Array.from({ length: 100 }, (_, n) => tool(n)), seed: 5 },
      true,
    ],
  ])('%s, and the outcome is the same', async (_what, format, body, isInThread) => {
    const expected = createPreparer(RULES)(jobOf(format, body), NO_LIMITS);
    const prepared = openPreparer().prepare(jobOf(format, body), 'key');
    expect(prepared instanceof Promise).toBe(isInThread);
    expect(plain(await prepared)).toEqual(plain(expected));
  });

  it('beside those of other keys, each key in its order', async () => {
    const preparer = openPreparer();
    const ended: string[] = [];
    const jobs = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(async (name) => {
      await preparer.prepare(jobOf('chat.completions', manyMessages(2_000)), name[0]!);
      ended.push(name);
    });
    await Promise.all(jobs);
    expect(ended).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });
});

describe('a thread without the memory for a body', () => {
  it('costs this request a refusal, and serves those that wait and those that follow', async () => {
    const preparer = openPreparer({ heapMegabytes: 40 });
    const small = () => preparer.prepare(jobOf('chat.completions', manyMessages(2_000)), 'b');
    const large = jobOf('chat.completions', manyMessages(95_000, 'abc'.repeat(90)));
    const [refused, waited] = await Promise.all([preparer.prepare(large, 'a'), small()]);
    expect(refused).toMatchObject({
      outcome: 'refused',
      refusal: { status: 400, message: 'the body takes too much memory to be read' },
    });
    expect(waited.outcome).toBe('prepared');
    expect((await small()).outcome).toBe('prepared');
  });
});

it('a thread that cannot start fails each request, and leaves none waiting', async () => {
  // Nothing of a prototype reaches the thread, so there the models are no list.
  const models = Object.create({ [Symbol.iterator]: () => RULES.models.values() }) as ModelPrice[];
  const preparer = openPreparer({ rules: { ...RULES, models } });
  const job = () => jobOf('chat.completions', manyMessages(2_000));
  for (const keyId of ['a', 'a', 'b']) {
    await expect(preparer.prepare(job(), keyId)).rejects.toThrow(/not iterable/);
  }
});

/**
 * Comparable: with the body as text, and without the prototypes that a thread does not hand over.
 */
function plain(preparation: Preparation): unknown {
  if (preparation.outcome !== 'prepared') return preparation;
  const { body, ...rest } = preparation;
  return { ...rest, body: Buffer.from(body).toString() };
}
