/**
 * `OVERDRAFT=none` and nothing allowed, against clients that hide what they ask for: no forbidden
 * member reaches the upstream in any reading, and the operator loses nothing.
 */

import { request } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DECIDING_MEMBERS } from '../../src/exchange/preparation/deciding-members.js';
import { runs } from '../../../../scripts/runs.cjs';
import { startDearUpstream } from '../support/dear-upstream.js';
import type { DearUpstream } from '../support/dear-upstream.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { Members, PADDED, STYLES, Written, write } from '../support/json-writings.js';

const MODEL = 'claude-haiku-4-5';

let upstream: DearUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startDearUpstream();
  gateway = await startTestGateway({ env: { OVERDRAFT: 'none', UPSTREAM_URL: upstream.url } });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const tool = (type: unknown) => ({ type, name: 'x' });
const HOSTILE = fc.constantFrom<unknown>(
  'x',
  'us',
  'fast',
  'priority',
  'default',
  'file',
  'document',
  'image',
  'compact_20260112',
  'web_fetch_20250910',
  'web_search_20250305',
  [MODEL],
  [{ model: MODEL }],
  [{ type: 'url', url: 'https://mcp.example/x', name: 'm' }],
  [tool('web_search_20250305')],
  [tool('code_execution_20250825')],
  [tool('web_fetch_20250910')],
  [tool(['web_search_20250305'])],
  { bill_to: 'x' },
  { type: 'file', file_id: 'f' },
  { type: 'url', url: 'https://a.test/' },
  { type: 'text', data: 'x' },
  { id: 'c' },
  { skills: [{ type: 'anthropic', skill_id: 'pptx' }] },
  {},
  [],
  null,
  5,
);
const NEUTRAL = fc.constantFrom<unknown>(null, [], 'global', 'standard', 'auto', {
  bill_to: 'self',
});
const style = fc.constantFrom(...STYLES.map(([, each]) => each), {});
const names = fc.constantFrom(...new Set<string>(Object.values(DECIDING_MEMBERS).flat()));
const written = fc
  .tuple(
    fc.oneof(HOSTILE, NEUTRAL),
    style,
    fc.constantFrom(...PADDED.map(([, pad]) => pad)),
    fc.boolean(),
  )
  .map(([value, how, pad, isPadded]) => new Written(isPadded ? pad(value) : write(value, how)));
type Pair = readonly [name: string, value: unknown];
const members: fc.Arbitrary<readonly Pair[]> = fc.oneof(
  fc.constant([]),
  fc.array(fc.tuple(names, written), { minLength: 1, maxLength: 3 }),
);
const document = { type: 'document', source: { type: 'url', url: 'https://a.test/a.pdf' } };

const attempt = fc.record({
  /** Beside or instead of those of an ordinary request. */
  ofRoot: members,
  ofBlock: members,
  ofTool: members,
  hasDocument: fc.boolean(),
  isFirst: fc.boolean(),
  how: style,
  coding: fc.constantFrom('identity', 'gzip', 'deflate', 'br'),
  path: fc.constantFrom('/v1/messages', '/v1/messages/count_tokens'),
  balance: fc.constantFrom('0.05', '5'),
});

type Attempt = typeof attempt extends fc.Arbitrary<infer Value> ? Value : never;

function bodyOf({ ofRoot, ofBlock, ofTool, hasDocument, isFirst, how }: Attempt): string {
  const block = new Members([['type', 'text'], ['text', 'x'], ...ofBlock]);
  const content = hasDocument ? [document, block] : [block];
  const ordinary: Pair[] = [
    ['model', MODEL],
    ['max_tokens', 20],
    ['messages', [{ role: 'user', content }]],
  ];
  const given = ofRoot.map(([name]) => name);
  const rest = ordinary.filter(([name]) => !given.includes(name));
  const tools: Pair[] =
    ofTool.length === 0 ? [] : [['tools', [new Members([['name', 'x'], ...ofTool])]]];
  const list = isFirst ? [...ofRoot, ...tools, ...rest] : [...rest, ...tools, ...ofRoot];
  return write(new Members(list), how);
}

const CODINGS = {
  identity: (bytes: Buffer) => bytes,
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
} as const;

// F381
it('no hidden member reaches the upstream, and nothing is written off', async () => {
  const statuses = new Map<number, number>();
  const attack = async (tried: Attempt): Promise<void> => {
    const { id, apiKey } = await gateway.createKey({ balance_usd: tried.balance });
    const response = await fetch(gateway.url + tried.path, {
      method: 'POST',
      headers: {
        'x-api-key': apiKey,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
        ...(tried.coding === 'identity' ? {} : { 'content-encoding': tried.coding }),
      },
      body: new Uint8Array(CODINGS[tried.coding](Buffer.from(bodyOf(tried)))),
    });
    await response.text();
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    const { written_off_usd: lost } = await gateway.call('showKey', { key_id: id });
    expect({ body: bodyOf(tried).slice(0, 2_000), lost }).toMatchObject({ lost: '0' });
  };
  await fc.assert(fc.asyncProperty(attempt, attack), { numRuns: runs(__filename, 'attempts') });
  expect(upstream.smuggled).toEqual([]);
  // Some attempts ask for nothing forbidden. They are served, so the upstream was worth asking.
  expect(statuses.get(200)).toBeGreaterThan(10);
  expect(statuses.get(400)).toBeGreaterThan(10);
  expect([...statuses.keys()].filter((status) => status >= 500)).toEqual([]);
});

// F390: a beta that widens the context window is named in capitals, or in the second of two
// headers: the hold covers the usual window only.
it.each([
  [['context-1m-2025-08-07']],
  [['CONTEXT-1M-2025-08-07']],
  [['one-2025-01-01, context-1m-2025-08-07']],
  [['one-2025-01-01', 'Context-1m-2025-08-07']],
])('the hold covers the window that the betas %j ask for', async (betas) => {
  // Of 400,000 tokens the model reads 200,000 without the beta: 0.75 USD.
  const { apiKey } = await gateway.createKey({ balance_usd: '1' });
  const body = { ...userMessage('x'.repeat(400_000)), model: 'claude-sonnet-4-5' };
  const refused = await new Promise((resolve, reject) => {
    const headers = {
      'x-api-key': apiKey,
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
      'anthropic-beta': betas,
    };
    request(`${gateway.url}/v1/messages`, { method: 'POST', headers }, (res) => {
      res.resume().on('end', () => {
        resolve(res.statusCode);
      });
    })
      .on('error', reject)
      .end(JSON.stringify(body));
  });
  expect(refused).toBe(402);
  expect((await postMessages(gateway, apiKey, body)).status).toBe(200);
});
