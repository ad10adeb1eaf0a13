import { describe, expect, it } from '@jest/globals';
import {
  translateRequest,
  REQUEST_FIELDS,
  type ModelTraits,
  type RequestTranslation,
} from '../../src/index.js';
import { isAllowedToken, toAllowedToken } from '../../src/reading/tool-ids.js';

const TRAITS: ModelTraits = {
  sampling: 'accepted',
  forcedToolChoice: 'accepted',
  effort: [],
  thinkingOff: 'omit',
};

function translate(chat: unknown): RequestTranslation {
  return translateRequest(chat, { model: 'claude-test', traits: TRAITS, maxOutputTokens: 8192 });
}

function bodyOf(chat: unknown): string {
  const result = translate(chat);
  if (result.outcome === 'refused') throw new Error(JSON.stringify(result.problem));
  return result.body;
}

/**
 * CPU time of this process. For the longest inputs below, quadratic code would need hours on any
 * machine.
 */
function secondsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

const user = (content: unknown) => ({ role: 'user', content });

describe('translateRequest', () => {
  it('gives each part of the body to `encode` before it writes the next', () => {
    const chat = {
      model: 'm',
      messages: [user('one'), { role: 'assistant', content: 'two' }, user('three')],
    };
    const events: string[] = [];
    const result = translateRequest(chat, {
      model: 'claude-test',
      traits: TRAITS,
      maxOutputTokens: 8192,
      stringify(value, take) {
        const text = JSON.stringify(value);
        events.push(`write ${text}`);
        take(text);
      },
      encode(write) {
        write((part) => events.push(`take ${part}`));
        return events.length;
      },
    });
    expect(result).toMatchObject({ outcome: 'translated', body: events.length });
    const written = events.flatMap((event, index) => (event.startsWith('write') ? [index] : []));
    expect(written.length).toBeGreaterThan(4);
    for (const index of written) {
      expect(events[index + 1]).toBe(events[index]?.replace('write', 'take'));
    }
  });

  it('writes the cached prefix in order: tools, system, messages, then what varies', () => {
    const body = bodyOf({
      stream: true,
      temperature: 0.5,
      stop: 'END',
      tool_choice: 'auto',
      messages: [{ role: 'system', content: 'S' }, user('Hi')],
      tools: [{ type: 'function', function: { name: 'f' } }],
      model: 'm',
    });
    expect(Object.keys(JSON.parse(body) as object)).toEqual([
      'model',
      'max_tokens',
      'tools',
      'system',
      'messages',
      'tool_choice',
      'stop_sequences',
      'temperature',
      'stream',
    ]);
  });

  it('begins a longer conversation with the same bytes', () => {
    const call = (id: string) => ({
      role: 'assistant',
      tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{"n": 1}' } }],
    });
    const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'ok' });
    const beginning = [user('Go'), call('a:b'), result('a:b'), call('a:b'), result('a:b')];
    const shorter = bodyOf({ model: 'm', messages: beginning });
    const longer = bodyOf({ model: 'm', messages: [...beginning, call('a:b'), result('a:b')] });
    expect(longer.startsWith(shorter.slice(0, shorter.indexOf(']}],"tool_choice"')))).toBe(true);
  });

  it('replaces unpaired surrogates, which the upstream would refuse, by U+FFFD', () => {
    const calls = [
      {
        id: 'c',
        function: {
          name: 'f',
          arguments: '{"a":"\ud83d","b":"\ud83d\ude00","\\uD83D":"\\uDE00\\ud83d\\ude00\\\\ud83d"}',
        },
      },
    ];
    const body = bodyOf({
      model: 'm',
      messages: [
        user('Go \ud83d\ude00\ude00 \\ud83d'),
        { role: 'assistant', tool_calls: calls },
        { role: 'tool', tool_call_id: 'c', content: 'ok' },
      ],
    });
    expect(body).toContain('"text":"Go \ud83d\ude00\ufffd \\\\ud83d"');
    expect(body).toContain(
      '"input":{"a":"\ufffd","b":"\ud83d\ude00","\ufffd":"\ufffd\\ud83d\\ude00\\\\ud83d"}',
    );
  });

  it('returns a hundred notes, and one that says how many more were left out', () => {
    const unknown = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`x${String(i)}`, 1]));
    const result = translate({ model: 'm', messages: [user('Hi')], ...unknown });
    if (result.outcome === 'refused') throw new Error(result.problem.message);
    expect(result.notes).toHaveLength(101);
    expect(result.notes.at(-1)).toEqual({
      path: '',
      reason: 'dropped',
      detail: '150 more notes were left out',
    });
  });

  it.each([
    [undefined, 'the options are missing: `optionsOf` returns undefined for unknown models'],
    [
      { traits: TRAITS, maxOutputTokens: 1 },
      "the option model must be the upstream's id of the model",
    ],
    [{ model: 'm', traits: {}, maxOutputTokens: 1 }, 'the option traits.effort must be a list'],
    [
      { model: 'm', traits: { ...TRAITS, sampling: 'yes' }, maxOutputTokens: 1 },
      'the option traits.sampling must be one of accepted, refused',
    ],
    [{ model: 'm', traits: TRAITS }, 'the option maxOutputTokens must be an integer above 0'],
    [
      { model: 'm', traits: TRAITS, maxOutputTokens: 0 },
      'the option maxOutputTokens must be an integer above 0',
    ],
  ])('names the option that a caller forgot or misspelt: %j', (options, complaint) => {
    const call = () => translateRequest({}, options as never);
    expect(call).toThrow(new TypeError(complaint));
  });

  it('limits a plain answer to `plainOutputTokens`, unless the client names a limit or streams', () => {
    const options = {
      model: 'm',
      traits: TRAITS,
      maxOutputTokens: 8192,
      plainOutputTokens: 1000,
    };
    const limitOf = (rest: object): unknown => {
      const result = translateRequest({ model: 'm', messages: [user('Hi')], ...rest }, options);
      return result.outcome === 'translated' && JSON.parse(result.body).max_tokens;
    };
    expect(limitOf({})).toBe(1000);
    expect(limitOf({ stream: true })).toBe(8192);
    expect(limitOf({ max_tokens: 5000 })).toBe(5000);
    expect(limitOf({ max_tokens: 9000 })).toBe(8192);
  });

  it('refuses a body nested deeper than 200 levels, however deep', () => {
    const nested = (levels: number) =>
      JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
    const chat = (levels: number) => ({ model: 'm', messages: [user('Hi')], x: nested(levels) });
    expect(translate(chat(199)).outcome).toBe('translated');
    for (const levels of [200, 100_000]) {
      const problem = { message: 'the body: is over 200 levels deep', param: null };
      expect(translate(chat(levels))).toMatchObject({ outcome: 'refused', problem });
    }
  });

  it('begins a longer conversation with the same bytes, whatever system messages come later', () => {
    const talk = [user('One'), { role: 'assistant', content: '1' }, user('Two')];
    const later = [
      { role: 'assistant', content: '2' },
      { role: 'system', content: 'Now French.' },
    ];
    for (const systemMessages of ['anywhere', 'first'] as const) {
      const bodies = [talk, [...talk, ...later, user('Three')]].map((messages) => {
        const result = translateRequest(
          { model: 'm', messages: [{ role: 'system', content: 'Base.' }, ...messages] },
          { model: 'm', traits: { ...TRAITS, systemMessages }, maxOutputTokens: 8192 },
        );
        if (result.outcome === 'refused') throw new Error(result.problem.message);
        return result.body;
      });
      expect(bodies[1]?.startsWith(bodies[0]?.slice(0, -']}'.length) ?? '')).toBe(true);
    }
  });

  it('never repeats the text of a prompt in notes or problems', () => {
    const secret = 'canary-7f3a';
    const chats = [
      {
        model: 'm',
        messages: [user(secret), { role: 'assistant', content: secret, name: secret }],
      },
      { model: 'm', messages: [user([{ type: 'text', text: [secret] }])] },
      { model: 'm', messages: [user({ text: secret })] },
      { model: 'm', messages: [user([{ type: 'file', file: { file_data: secret } }])] },
      { model: 'm', messages: [user([{ type: 'image_url', image_url: { url: secret } }])] },
      { model: 'm', messages: [user('Hi')], stop: [secret], user: secret, metadata: { a: secret } },
    ];
    for (const chat of chats) {
      const result = translate(chat);
      const reported = result.outcome === 'refused' ? result.problem : result.notes;
      expect(JSON.stringify(reported)).not.toContain(secret);
    }
  });

  it('accepts schemas over 190 levels deep, and arguments of any depth', () => {
    let schema: unknown = { type: 'object' };
    for (let i = 0; i < 95; i += 1) schema = { type: 'object', properties: { a: schema } };
    for (const levels of [199, 200, 100_000]) {
      const deep = `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
      const calls = [{ id: 'c', function: { name: 'f', arguments: deep } }];
      const body = bodyOf({
        model: 'm',
        tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
        messages: [
          user('Go'),
          { role: 'assistant', tool_calls: calls },
          { role: 'tool', tool_call_id: 'c', content: 'ok' },
        ],
      });
      expect(body).toContain(JSON.stringify(schema));
      const input = levels === 199 ? deep : JSON.stringify({ _raw: deep });
      expect(body).toContain(`"id":"c","name":"f","input":${input}`);
    }
  });

  it.each([
    [
      'parts',
      { messages: [user(Array.from({ length: 300_000 }, () => ({ type: 'text', text: 'a' })))] },
    ],
    ['messages', { messages: Array.from({ length: 300_000 }, () => user('a')) }],
    [
      'unknown members',
      {
        messages: [user('a')],
        ...Object.fromEntries(Array.from({ length: 300_000 }, (_, i) => [`k${String(i)}`, i])),
      },
    ],
    [
      'cache points',
      {
        messages: [
          user(
            Array.from({ length: 100_000 }, () => ({
              type: 'text',
              text: 'a',
              cache_control: { type: 'ephemeral' },
            })),
          ),
        ],
      },
    ],
    [
      'padding',
      {
        messages: [
          user([
            {
              type: 'image_url',
              image_url: { url: `data:image/png;base64,iVBORw0K${'='.repeat(20_000_000)}x` },
            },
          ]),
        ],
      },
    ],
    [
      'base64',
      {
        messages: [
          user([
            {
              type: 'image_url',
              image_url: { url: `data:image/png;base64,iVBORw0K${'A'.repeat(20_000_000)}` },
            },
          ]),
        ],
      },
    ],
    ['white space', { messages: [user(' '.repeat(20_000_000)), user('a')] }],
  ])('takes time in proportion to its input: many %s', (_, chat) => {
    const start = process.cpuUsage();
    translate({ model: 'm', ...chat });
    expect(secondsSince(start)).toBeLessThan(60);
  });

  it('takes linear time for many calls of one id, each answered twice', () => {
    const calls = Array.from({ length: 50_000 }, () => ({ id: 'c', function: { name: 'f' } }));
    const results = Array.from({ length: 100_000 }, () => ({
      role: 'tool',
      tool_call_id: 'c',
      content: 'x',
    }));
    const start = process.cpuUsage();
    const result = translate({
      model: 'm',
      messages: [user('Go'), { role: 'assistant', tool_calls: calls }, ...results],
    });
    expect(result.outcome).toBe('translated');
    expect(secondsSince(start)).toBeLessThan(60);
  });

  it('takes linear time for long ids that differ only at their end, each given twice', () => {
    const ids = Array.from({ length: 50_000 }, (_, at) => 'a'.repeat(55) + String(at + 1e8));
    const calls = [...ids, ...ids].map((id) => ({ id, function: { name: 'f' } }));
    const start = process.cpuUsage();
    const result = translate({
      model: 'm',
      messages: [user('Go'), { role: 'assistant', tool_calls: calls }, user('Go on')],
    });
    expect(result.outcome).toBe('refused');
    expect(secondsSince(start)).toBeLessThan(60);
  });
});

describe('REQUEST_FIELDS', () => {
  const noted = (field: string, value: unknown) => {
    const result = translate({ model: 'm', messages: [user('Hi')], [field]: value });
    if (result.outcome === 'refused') throw new Error(result.problem.message);
    return result.notes.map(({ path, detail }) => ({ path, detail }));
  };

  it('describes each of the 37 fields of the chat format, and four of other gateways', () => {
    expect(REQUEST_FIELDS.size).toBe(41);
  });

  it.each([...REQUEST_FIELDS])('describes %s correctly', (name, field) => {
    const detail = 'no upstream equivalent';
    if (field.fate === 'ignored') {
      expect(noted(name, 'odd')).toEqual([{ path: name, detail }]);
      for (const json of field.neutral) expect(noted(name, JSON.parse(json))).toEqual([]);
      return;
    }
    // A mapped member is read, even if its value is unusual.
    const result = translate({ model: 'm', messages: [user('Hi')], [name]: 'odd' });
    if (result.outcome === 'refused') expect(result.problem.param).toContain(name);
    else if (name !== 'response_format') {
      expect(result.notes).not.toContainEqual({ path: name, reason: 'ignored', detail });
    }
  });

  it('notes a member that it does not list', () => {
    expect(noted('unheard_of', 1)).toEqual([
      { path: 'unheard_of', detail: 'no upstream equivalent' },
    ]);
  });
});

describe('toAllowedToken', () => {
  it('does not change text that the upstream accepts', () => {
    expect(toAllowedToken('toolu_01-AZ', 64)).toBe('toolu_01-AZ');
  });

  it.each(['', ' ', 'a b', 'ä', 'x'.repeat(65), '\ud83d', 'a\n'])(
    'makes %j acceptable, always in the same way',
    (text) => {
      expect(isAllowedToken(toAllowedToken(text, 64), 64)).toBe(true);
      expect(toAllowedToken(text, 64)).toBe(toAllowedToken(text, 64));
    },
  );

  it('gives different results for texts that differ only in replaced characters', () => {
    expect(toAllowedToken('a:b', 64)).not.toBe(toAllowedToken('a.b', 64));
  });
});
