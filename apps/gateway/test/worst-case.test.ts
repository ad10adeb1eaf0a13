import { describe, expect, it } from '@jest/globals';
import { defaultPriceTable } from '@gateway/billing';
import { worstCaseOf } from '../src/worst-case.js';

const price = defaultPriceTable().find('claude-sonnet-4-6')!;
/** 3.75 USD per million tokens written to the cache is the dearest prompt token, 15 the reply's. */
const inUsdPerMillion = (units: bigint) => Number(units) / 1e14 / 1e-6;
const amountOf = (body: unknown) => {
  const worst = worstCaseOf(bytesOf(body), price);
  if (worst.outcome === 'unbounded') throw new Error(`unbounded: ${worst.path}`);
  return worst.amount;
};
const promptTokens = (body: unknown) => Math.round(inUsdPerMillion(amountOf(body)) / 3.75);

const request = (content: unknown, more: object = {}) => ({
  model: price.id,
  max_tokens: 0,
  messages: [{ role: 'user', content }],
  ...more,
});
const bytesOf = (body: unknown) => Buffer.from(JSON.stringify(body));
const bytes = (body: unknown) => bytesOf(body).length;

describe('worstCaseOf', () => {
  it('is every byte a token at the dearest prompt rate, and max_tokens at the reply rate', () => {
    const body = request('héllo'.repeat(1_000));
    expect(promptTokens(body)).toBe(bytes(body) + 2_000);
    const longer = { ...body, max_tokens: 1_000 };
    const more = amountOf(longer) - amountOf(body);
    expect(more).toBe(1_000n * 1_500_000_000n + 3n * 375_000_000n);
  });

  it('counts images and built-in tools apart: they cost more than their bytes', () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
    const inResult = { type: 'tool_result', tool_use_id: 't', content: [image, image] };
    const body = request([image, inResult, { type: 'text', text: '"type":"image"' }], {
      system: [{ type: 'text', text: 'x' }],
      tools: [
        { name: 'mine', input_schema: { type: 'object', properties: { type: { type: 'image' } } } },
        { type: 'custom', name: 'mine2', input_schema: { type: 'object' } },
        { type: 'bash_20250124', name: 'bash' },
      ],
    });
    expect(promptTokens(body)).toBe(bytes(body) + 2_000 + 3 * 5_000 + 3_000);
  });

  it('is the whole context window with a document whose pages cannot be counted here', () => {
    for (const source of [
      { type: 'url', url: 'https://example.com/a.pdf' },
      { media_type: 'application/pdf', data: 'JVBERi0=', type: 'base64' },
    ]) {
      const nested = { type: 'tool_result', content: [{ source, type: 'document' }] };
      expect(promptTokens(request([{ type: 'document', source }]))).toBe(price.contextWindow);
      expect(promptTokens(request([nested]))).toBe(price.contextWindow);
    }
  });

  it('sees through escapes', () => {
    const written = JSON.stringify(request([{ type: 'image', source: { type: 'url', url: 'x' } }]));
    const escaped = Buffer.from(written.replace('"image"', String.raw`"\u0069mage"`));
    expect(worstCaseOf(escaped, price)).toEqual({
      outcome: 'bounded',
      amount: BigInt(escaped.length + 2_000 + 5_000) * 375_000_000n,
    });
  });

  it('is bytes as ever for documents of plain text', () => {
    const plain = {
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'text' },
    };
    const blocks = {
      type: 'document',
      source: { type: 'content', content: [{ type: 'text', text: 'x' }, { type: 'image' }] },
    };
    const body = request([plain, blocks]);
    expect(promptTokens(body)).toBe(bytes(body) + 2_000 + 5_000);
  });

  it('of a compaction by itself is that of a reply: it reads once and writes at most max_tokens', () => {
    const reply = request('Hello', { max_tokens: 100 });
    const compaction = { ...reply, compaction: { type: 'summarize' } };
    const longer = BigInt(bytes(compaction) - bytes(reply)) * 375_000_000n;
    expect(amountOf(compaction)).toBe(amountOf(reply) + longer);
  });

  it('does not exist where the upstream may compact any number of times', () => {
    const compacting = {
      edits: [{ type: 'clear_tool_uses_20250919' }, { type: 'compact_20260112' }],
    };
    expect(
      worstCaseOf(bytesOf(request('Hello', { context_management: compacting })), price),
    ).toEqual({ outcome: 'unbounded', path: 'context_management.edits.1.type' });
    const clearing = { edits: [{ type: 'clear_thinking_20251015' }] };
    const body = request('"compact_20260112"', { context_management: clearing });
    expect(promptTokens(body)).toBe(bytes(body) + 2_000);
  });

  it('is never more than the context window, which the upstream enforces', () => {
    expect(promptTokens(request('x'.repeat(3_000_000)))).toBe(price.contextWindow);
  });
});
