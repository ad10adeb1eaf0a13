/** `translateMessagesRequest` with the vectors in `vectors/request`: one file per case. */

import { describe, expect, it } from '@jest/globals';
import { MESSAGE_FIELDS, translateMessagesRequest } from '../../src/reverse/index.js';
import { load, textOf, traitsNamed, type RequestVector } from './vectors.js';
import { titled } from '../titled.js';

describe('translateMessagesRequest, with vectors', () => {
  it.each(titled(load<RequestVector>('request')))('%s', (_title, vector) => {
    expect([vector.why, vector.source]).toEqual([expect.any(String), expect.any(String)]);
    const text = textOf(vector.native);
    const endUserId = vector.endUserId ? (value: string) => `opaque(${value})` : undefined;
    const options = { model: 'gpt-test', traits: traitsNamed(vector.traits), endUserId };
    const result = translateMessagesRequest(text, options);
    expect(translateMessagesRequest(new TextEncoder().encode(text), options)).toEqual(result);

    if (vector.refused) {
      expect(result).toMatchObject({ outcome: 'refused', problem: vector.refused });
      const { message } = (result as { problem: { message: string } }).problem;
      expect(message).toContain(vector.refused.param ?? 'the body');
      return;
    }
    if (result.outcome === 'refused') throw new Error(JSON.stringify(result.problem));
    if (vector.chat !== undefined) expect(JSON.parse(result.body)).toEqual(vector.chat);
    for (const piece of vector.contains ?? []) expect(result.body).toContain(piece);
    expect(result.notes.map(({ path, reason }) => ({ path, reason }))).toEqual(vector.notes ?? []);
    expect(result.stream).toBe(vector.stream ?? false);
    const stopSequences = vector.stopSequences ?? [];
    expect(result.response).toEqual({ model: 'claude-test', stopSequences });
  });
});

describe('translateMessagesRequest', () => {
  const options = { model: 'gpt-test', traits: traitsNamed() };
  const request = (members: object): string =>
    JSON.stringify({
      model: 'claude-test',
      max_tokens: 1,
      messages: [{ role: 'user', content: 'Hi' }],
      ...members,
    });

  it('writes the members of a cached prefix first, in the order of the native cache', () => {
    const body = request({
      stream: true,
      system: 'a',
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
    });
    const result = translateMessagesRequest(body, options);
    if (result.outcome === 'refused') throw new Error(result.problem.message);
    const members = Object.keys(JSON.parse(result.body) as object);
    expect(members.slice(0, 3)).toEqual(['model', 'tools', 'messages']);
  });

  it('returns 100 notes, and says how many more there were', () => {
    const odd = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`odd_${String(i)}`, 1]));
    const result = translateMessagesRequest(request(odd), options);
    if (result.outcome === 'refused') throw new Error(result.problem.message);
    expect(result.notes).toHaveLength(101);
    expect(result.notes.at(-1)?.detail).toContain('50');
  });

  it('names the target of every member that it maps', () => {
    for (const [name, field] of MESSAGE_FIELDS) {
      expect([name, field.fate === 'mapped' ? field.to : field.why]).toEqual([
        name,
        expect.stringMatching(/\w/),
      ]);
    }
  });
});
