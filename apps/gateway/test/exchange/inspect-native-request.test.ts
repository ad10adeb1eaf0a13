import { describe, expect, it } from '@jest/globals';
import type { PricedFeature } from '../../src/config/variables.js';
import { createNativeInspector } from '../../src/exchange/preparation/inspect-native-request.js';

const base = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'a' }] };
const nothing = new Set<PricedFeature>();
const inspectStrictly = createNativeInspector({ allow: nothing, kind: 'message' });
const inspect = (body: unknown, allow: PricedFeature[] = []) => {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  // One inspector for all bodies without `allow`, as in the gateway. If it kept anything of a body,
  // tests of later ones would fail.
  const inspectBody =
    allow.length === 0
      ? inspectStrictly
      : createNativeInspector({ allow: new Set(allow), kind: 'message' });
  const inspection = inspectBody(bytes, Infinity);
  // The members of a refusal are put beside `outcome`, where the tests expect them.
  return inspection.outcome === 'refused'
    ? { outcome: 'refused', ...inspection.refusal }
    : inspection;
};
const withBlock = (block: unknown) => ({ ...base, messages: [{ role: 'user', content: [block] }] });
const point = { type: 'ephemeral' };
const marked = { type: 'text', text: 'a', cache_control: point };
const imageOf = (source: unknown) => ({ type: 'image', source });
const toolResult = (content: unknown) => ({ type: 'tool_result', tool_use_id: 't', content });

describe('createNativeInspector', () => {
  it('returns the same buffer that it was given', () => {
    const body = Buffer.from(JSON.stringify({ ...base, tool_choice: { type: 'auto' } }));
    const inspection = inspectStrictly(body, Infinity);
    expect(inspection).toMatchObject({ outcome: 'accepted', model: 'm' });
    expect(inspection.outcome === 'accepted' && inspection.body).toBe(body);
  });

  it.each<[string, unknown]>([
    ['max_tokens of 0, which only warms the cache', { ...base, max_tokens: 0 }],
    ['an escaped member name', '{"m\\u006fdel":"m","max_tokens":1,"messages":[1]}'],
    ['temperature and top_p at both ends', { ...base, temperature: 0, top_p: 1 }],
    ['an image by URL', withBlock(imageOf({ type: 'url', url: 'https://a.test/' }))],
    [
      'client tools that upstream defines',
      { ...base, tools: [{ type: 'bash_20250124', name: 'bash' }] },
    ],
    ['web fetch, which costs tokens only', { ...base, tools: [{ type: 'web_fetch_20250910' }] }],
    ['four cache points', { ...base, system: [marked, marked, marked, marked] }],
    ['a cache_control of null', { ...base, system: [{ ...marked, cache_control: null }] }],
    [
      'look-alikes inside data',
      withBlock({
        type: 'tool_use',
        id: 't',
        name: 'n',
        input: { content: [marked, marked, marked], source: { type: 'file' }, cache_control: 1 },
      }),
    ],
    [
      'look-alikes inside a schema',
      {
        ...base,
        tools: [
          {
            name: 'n',
            input_schema: { properties: { cache_control: {}, type: { type: 'file' } } },
          },
        ],
      },
    ],
    ['members that are null', { ...base, container: null, mcp_servers: null, speed: null }],
  ])('accepts %s', (_what, body) => {
    expect(inspect(body)).toMatchObject({ outcome: 'accepted' });
  });

  // F388: an optional member is null, which decides nothing: 400 in the gateway's words instead of
  // the answer of the upstream.
  it.each(['message', 'count_tokens'] as const)('leaves null to the upstream (%s)', (kind) => {
    const optional = ['stream', 'tool_choice', 'tools', 'system', 'temperature', 'top_p', 'top_k'];
    for (const name of [...optional, 'stop_sequences', 'metadata', 'thinking']) {
      const body = Buffer.from(JSON.stringify({ ...base, [name]: null }));
      const inspection = createNativeInspector({ allow: nothing, kind })(body, Infinity);
      expect(inspection).toMatchObject({ outcome: 'accepted' });
      expect(inspection.outcome === 'accepted' && inspection.body).toBe(body);
    }
  });

  it('accepts members of the root that it does not know, and reports their names', () => {
    const known = { ...base, temperature: 0.5, compaction: null, thread: null };
    expect(inspect(known)).toMatchObject({ outcome: 'accepted', unknownMembers: [] });
    const unknown = { hologram: { resolution: 4 }, safeguards: [] };
    expect(inspect({ ...known, ...unknown })).toMatchObject({
      outcome: 'accepted',
      unknownMembers: ['hologram', 'safeguards'],
    });
  });

  // F66
  it.each<[string, unknown]>([
    ['max_tokens', '{"model":"m","max_tokens":9007199254740993,"messages":[1]}'],
    ['max_tokens', { ...base, max_tokens: 1e12 }],
    ['max_tokens', { ...base, max_tokens: null }],
    ['system', { ...base, system: 5 }],
    ['tools', { ...base, tools: {} }],
    ['messages', '{"model":"m","max_tokens":1,"messages":[ \n ]}'],
    ['model', { ...base, model: '' }],
    ['top_k', { ...base, top_k: 1.5 }],
    ['service_tier', { ...base, service_tier: 'flex' }],
    ['tool_choice', { ...base, tool_choice: { type: 'sometimes' } }],
    [
      'cache_control',
      {
        ...base,
        cache_control: point,
        system: [marked, marked],
        tools: [
          { name: 'a', cache_control: point },
          { name: 'b', cache_control: point },
        ],
      },
    ],
    [
      'cache_control',
      {
        ...base,
        messages: [
          { role: 'user', content: [toolResult([marked, marked, marked, marked]), marked] },
        ],
      },
    ],
    [
      'system.0.cache_control',
      { ...base, system: [{ ...marked, cache_control: { type: 'eternal' } }] },
    ],
    ['messages.0.content.0.source.type', withBlock(imageOf({ type: 'file', file_id: 'f' }))],
    [
      'messages.0.content.0.content.0.source.type',
      withBlock(toolResult([imageOf({ type: 'file' })])),
    ],
    [
      'messages.0.content.0.source.content.0.source.type',
      withBlock({
        type: 'document',
        source: { type: 'content', content: [imageOf({ type: 'file' })] },
      }),
    ],
    [
      'messages.0.content.0.source.type',
      '{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","sour\\u0063e":{"type":"\\u0066ile"}}]}]}',
    ],
    ['messages.0.content.0.type', withBlock({ type: 'container_upload', file_id: 'f' })],
    [
      'messages.0.content.0.type',
      '{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"container\\u005fupload"}]}]}',
    ],
    ['container', { ...base, container: 'c' }],
    ['thread', { ...base, thread: {} }],
    ['diagnostics.previous_message_id', { ...base, diagnostics: { previous_message_id: 'msg_1' } }],
  ])('refuses, naming %s', (field, body) => {
    expect(inspect(body)).toMatchObject({
      outcome: 'refused',
      status: 400,
      type: 'invalid_request_error',
      message: expect.stringContaining(field),
    });
  });

  it.each<[PricedFeature, string, unknown]>([
    [
      'web_search',
      'tools.0.type',
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    ],
    ['code_execution', 'tools.0.type', { tools: [{ type: 'code_execution_20250825' }] }],
    ['advisor', 'tools.0.type', { tools: [{ type: 'advisor_20260301' }] }],
    ['mcp', 'mcp_servers', { mcp_servers: [{ type: 'url' }] }],
    ['fast_mode', 'speed', { speed: 'fast' }],
    ['inference_geo', 'inference_geo', { inference_geo: 'us' }],
    ['fallbacks', 'fallbacks', { fallbacks: [{ model: 'claude-opus-5' }] }],
    ['compaction', 'compaction', { compaction: {} }],
    [
      'compaction',
      'context_management.edits.0.type',
      { context_management: { edits: [{ type: 'compact_20260112' }] } },
    ],
  ])('refuses %s at %s unless the operator allows it', (feature, field, more) => {
    const body = { ...base, ...(more as object) };
    expect(inspect(body)).toMatchObject({
      outcome: 'refused',
      message: expect.stringContaining(field),
    });
    expect(inspect(body, [feature])).toMatchObject({ outcome: 'accepted' });
  });

  it('refuses threads with the code on which SDKs fall back to whole conversations', () => {
    expect(inspect({ ...base, thread: { type: 'create' } })).toMatchObject({
      outcome: 'refused',
      errorCode: 'thread_unsupported_request',
    });
  });

  it("replaces a tool_choice in OpenAI's format, and no byte around it", () => {
    const before = '{"n":12345678901234567890, "tool_choice" :\t';
    const after =
      ',"model":"m" ,"max_tokens":1,"messages":[{"role":"user","content":"\\u00e9é"}]} ';
    const inspection = inspect(`${before}"required"${after}`);
    expect(inspection).toMatchObject({ outcome: 'accepted' });
    const sent = 'body' in inspection ? Buffer.from(inspection.body).toString() : '';
    expect(sent).toBe(`${before}{"type":"any"}${after}`);
  });
});

describe('createNativeInspector for counting tokens', () => {
  it('needs no max_tokens, and refuses members that address the account', () => {
    const { max_tokens: _unused, ...body } = base;
    const inspectCount = createNativeInspector({ allow: nothing, kind: 'count_tokens' });
    const count = (value: unknown) => inspectCount(Buffer.from(JSON.stringify(value)), Infinity);
    expect(count(body)).toMatchObject({ outcome: 'accepted' });
    expect(count({ ...body, container: 'c' })).toMatchObject({ outcome: 'refused' });
  });
});
