/**
 * Each member of a native request that decides about rights, prices or holds, in every way that
 * JSON allows to write it: the answer, and the hold, are those of the plain writing.
 */

import { describe, expect, it } from '@jest/globals';
import { defaultPriceTable } from '@gateway/billing';
import fc from 'fast-check';
import { PRICED_FEATURES } from '../../src/config/variables.js';
import type { PricedFeature } from '../../src/config/variables.js';
import {
  DECIDING_MEMBERS,
  JUDGED_MEMBERS,
} from '../../src/exchange/preparation/deciding-members.js';
import type { MemberOf } from '../../src/exchange/preparation/deciding-members.js';
import { createPreparer } from '../../src/exchange/preparation/prepare-request.js';
import type { PreparationJob } from '../../src/exchange/preparation/prepare-request.js';
import { runs } from '../../../../scripts/runs.cjs';
import { Members, PADDED, STYLES, Written, write } from '../support/json-writings.js';
import { NO_LIMITS } from '../support/no-limits.js';

const MODEL = 'claude-haiku-4-5';
const DEAR = 'claude-opus-5';

const FALLBACKS: readonly PricedFeature[] = ['fallbacks'];
const rulesWith = (allow: readonly PricedFeature[]) => ({
  models: defaultPriceTable().list(),
  fees: new Map([['web_search_requests', 10n ** 12n]]),
  allow: new Set(allow),
  overdraft: 'none' as const,
  chat: { jsonSchema: 'native', reasoning: 'none', cache: 'client' } as const,
});
const PREPARERS = {
  nothing: createPreparer(rulesWith([])),
  fallbacks: createPreparer(rulesWith(FALLBACKS)),
  everything: createPreparer(rulesWith(PRICED_FEATURES)),
};
type Leave = keyof typeof PREPARERS;

/** What a client can see, and what is held. */
function answerTo(text: string, leave: Leave, format: PreparationJob['format'] = 'messages') {
  const body = Buffer.from(text);
  const job = { format, body, hasLongContext: false };
  const preparation = PREPARERS[leave](job, NO_LIMITS);
  if (preparation.outcome === 'too_large') throw new Error('refused for a limit that is not set');
  if (preparation.outcome === 'refused') {
    const { status, message } = preparation.refusal;
    return { status, message };
  }
  const { chargeBound, unknownMembers } = preparation;
  // Where each is named depends on the writing.
  const models = preparation.models.map(({ path, model }) => ({ path, model }));
  const isUnchanged = preparation.body === body;
  return { status: 200, models, chargeBound, unknownMembers, isUnchanged };
}

/** The same number of bytes, because each counts as a token. */
const toLength = (text: string, length: number): string =>
  text + ' '.repeat(Math.max(0, length - text.length));

type Values = readonly unknown[];
const URL_SERVER = { type: 'url', url: 'https://mcp.example/x', name: 'm' };
/** Forbidden ones, those that need leave, and neutral ones. */
const JUDGED: Readonly<Record<(typeof JUDGED_MEMBERS)[number], Values>> = {
  billing_policy: [{ bill_to: 'x' }, { bill_to: 'self' }, { bill_to: 'self', linked: 'x' }, []],
  workspace_id: ['x', {}, null],
  user_profile_id: ['x', 5],
  fallbacks: [[{ model: DEAR, max_tokens: 5_000 }], 'default', [], [{}], [DEAR], { model: DEAR }],
  mcp_servers: [[URL_SERVER], [{}], [], [[]]],
  compaction: [{ type: 'summarize' }, {}, [], null],
  inference_geo: ['us', 'global', 'GLOBAL', 0],
  container: [
    'c',
    { id: 'c' },
    { skills: [{ type: 'anthropic', skill_id: 'pptx' }] },
    { id: null },
  ],
  speed: ['fast', 'standard', 1, ['standard']],
  service_tier: ['auto', 'standard_only', 'priority', ['auto']],
};
const TOOL = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 };
const OF_ROOT: Readonly<Record<MemberOf<'root'>, Values>> = {
  ...JUDGED,
  model: [MODEL, DEAR, 'unheard', 5, ''],
  max_tokens: [100, 0, 1.5, 1e12, '100', null],
  messages: [[{ role: 'user', content: 'x' }], []],
  stream: [true, false, null, 1],
  tools: [[TOOL], [], [[TOOL]], {}],
  tool_choice: [{ type: 'auto' }, { type: 'auto', model: DEAR }, null, 'sometimes'],
  thread: [{ type: 'create' }, null],
};
const OF_FALLBACK: Readonly<Record<MemberOf<'fallback'>, Values>> = {
  ...JUDGED,
  fallbacks: [[{ model: DEAR, max_tokens: 7_000 }], [DEAR], 'default', []],
  model: [DEAR, 5, ['claude-opus-5'], null],
  max_tokens: [60_000, '60000', [60_000], 1.5, null],
  tools: [[TOOL], { type: 'web_search_20250305' }],
};
const DOCUMENT = { type: 'document', source: { type: 'url', url: 'https://a.test/' } };
const OF_OBJECT: Readonly<Record<MemberOf<'object'>, Values>> = {
  type: ['image', 'document', 'compact_20260112', 'file', 'web_search_20250305', 'text', null],
  cache_control: [{ type: 'ephemeral' }, { type: 'eternal' }, {}, null],
  model: [DEAR, 'unheard', 5],
  source: [{ type: 'text' }, { type: 'file' }, 'x'],
  tools: [[TOOL], [{ type: 'advisor_20260301', model: DEAR }], TOOL, { enabled: true }, []],
  definition: [TOOL, { type: 'teleport' }],
  file_id: ['file_1', {}, null],
  previous_message_id: ['msg_1'],
  speed: ['fast', 'standard', {}],
  service_tier: ['priority', 'auto', {}],
  inference_geo: ['us', 'global', {}],
  container: ['c', {}],
};
const OF_TOOL: Readonly<Record<MemberOf<'tool'>, Values>> = {
  type: ['web_search_20250305', 'web_fetch_20250910', 'teleport', 'custom', ['x'], 5, null],
  max_uses: [3, 2.5, 0, -1, '3', null],
};

const BASE: Readonly<Record<string, unknown>> = {
  model: MODEL,
  max_tokens: 10,
  messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, DOCUMENT] }],
};
type Pair = readonly [name: string, value: unknown];
type Wrap = (...members: readonly Pair[]) => Members;

const root = (...members: readonly Pair[]): Members => {
  const names = members.map(([name]) => name);
  return new Members([
    ...Object.entries(BASE).filter(([name]) => !names.includes(name)),
    ...members,
  ]);
};
const PLACES: readonly (readonly [place: string, Leave, Readonly<Record<string, Values>>, Wrap])[] =
  [
    ['the root', 'nothing', OF_ROOT, root],
    ['the root of a gateway that allows everything', 'everything', OF_ROOT, root],
    [
      'an entry of fallbacks',
      'fallbacks',
      OF_FALLBACK,
      (...members) => {
        const hasModel = members.some(([name]) => name === 'model');
        const model: Pair[] = hasModel ? [] : [['model', MODEL]];
        return root(['fallbacks', [new Members([...model, ...members])]]);
      },
    ],
    [
      'a block of system',
      'nothing',
      OF_OBJECT,
      (...members) => root(['system', [new Members(members)]]),
    ],
    [
      'a list in a member that no version knows',
      'everything',
      OF_OBJECT,
      (...members) => root(['future', [[{ inner: new Members(members) }]]]),
    ],
    ['a tool', 'nothing', OF_TOOL, ofTool],
    ['a tool of a gateway that allows everything', 'everything', OF_TOOL, ofTool],
  ];

function ofTool(...members: readonly Pair[]): Members {
  const hasType = members.some(([name]) => name === 'type');
  const type: Pair[] = hasType ? [] : [['type', 'web_search_20250305']];
  return root(['tools', [new Members([...type, ['name', 'x'], ...members])]]);
}

const FORMATS = ['messages', 'count_tokens'] as const;

describe.each(PLACES)('in %s', (_place, leave, values, wrap) => {
  // F381: a value that decides about money or rights is written with escapes, other numbers,
  // spaces, or longer than a limit of the reader, and counts as neutral: the answer and the hold
  // are those of the plain writing.
  it.each(Object.entries(values))('%s is judged alike in every writing', (name, samples) => {
    for (const value of samples) {
      const plain = write(wrap([name, value]));
      const written = STYLES.map(([what, style]) => [what, write(wrap([name, value]), style)]);
      const padded = PADDED.map(([what, writeValue]) => [
        what,
        write(wrap([name, new Written(writeValue(value))])),
      ]);
      for (const [what, text] of [...written, ...padded]) {
        for (const format of FORMATS) {
          expect({ what, value, ...answerTo(text!, leave, format) }).toEqual({
            what,
            value,
            ...answerTo(toLength(plain, text!.length), leave, format),
          });
        }
      }
    }
  });

  // F382: a member that decides is given twice: the request is refused by its name, or each of the
  // two values is judged and held for.
  it.each(Object.entries(values))('%s hides nothing if it is repeated', (name, samples) => {
    for (const [first, last] of samples.flatMap((one) => samples.map((other) => [one, other]))) {
      for (const otherName of [
        name,
        `\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`,
      ]) {
        const text = write(wrap([name, first], [name, last])).replace(
          new RegExp(`("${name}":.*)"${name}":`),
          `$1"${otherName}":`,
        );
        const both = answerTo(text, leave);
        const alone = [first, last].map((value) =>
          answerTo(toLength(write(wrap([name, value])), text.length), leave),
        );
        if (both.status !== 200) {
          const messages = alone.flatMap(({ message }) => message ?? []);
          const isKnown = messages.includes(both.message!) || both.message!.includes(name);
          expect({ text, message: both.message, isKnown }).toMatchObject({ isKnown: true });
          continue;
        }
        expect({ text, statuses: alone.map(({ status }) => status) }).toEqual({
          text,
          statuses: [200, 200],
        });
        for (const { chargeBound } of alone) {
          expect(both.chargeBound).toBeGreaterThanOrEqual(chargeBound!);
        }
      }
    }
  });
});

describe('a member that decides and may be given once', () => {
  // F382
  it.each(DECIDING_MEMBERS.root)(
    'such as %s is refused by its name, even if both are equal',
    (name) => {
      for (const format of FORMATS) {
        const twice = new Members([...root().list, [name, BASE[name] ?? null], [name, null]]);
        expect(answerTo(write(twice), 'everything', format)).toEqual({
          status: 400,
          message: `${name}: the member is given twice`,
        });
      }
    },
  );

  // F382
  it.each(DECIDING_MEMBERS.fallback)('such as %s in an entry of fallbacks', (name) => {
    const entry = new Members([
      [name, null],
      [name, null],
    ]);
    expect(answerTo(write(root(['fallbacks', [entry]])), 'everything')).toEqual({
      status: 400,
      message: `fallbacks.0.${name}: the member is given twice`,
    });
  });
});

// F391: a file or a tool inside the value of a member that decides is not looked at.
it.each(DECIDING_MEMBERS.object)('an object inside %s is judged, too', (name) => {
  for (const hidden of [{ file_id: 'f' }, { tools: [TOOL] }, { cache_control: { type: 'x' } }]) {
    const body = root(['system', [{ [name]: { inner: hidden } }]]);
    expect(answerTo(write(body), 'nothing')).toMatchObject({ status: 400 });
  }
});

describe('a hold', () => {
  const holdOf = (...members: readonly Pair[]): bigint => {
    const text = toLength(write(root(...members)), 2_000);
    const answer = answerTo(text, 'everything');
    if (answer.chargeBound === undefined) throw new Error(JSON.stringify(answer));
    return answer.chargeBound;
  };
  const documentWith = (source: unknown) => [
    { role: 'user', content: [{ type: 'document', source }] },
  ];

  // F383: a plain source elsewhere in the body hides that a document's pages cannot be counted.
  it('counts a document whose pages cannot be counted, whatever else has a source', () => {
    const plain = documentWith({ type: 'text', data: 'x' });
    const remote = documentWith({ type: 'url', url: 'https://a.test/' });
    const decoy: Pair = ['future', [{ source: { type: 'text' } }, { source: { type: 'content' } }]];
    expect(holdOf(['messages', remote], decoy)).toBe(holdOf(['messages', remote]));
    expect(holdOf(['messages', remote])).toBeGreaterThan(holdOf(['messages', plain], decoy));
  });

  // F384: betas in the body, which a server before the API may read, widen the context window.
  it.each(['betas', 'anthropic_beta'])(
    'covers the window that %s in the body may ask for',
    (name) => {
      const long: Pair = ['messages', [{ role: 'user', content: 'x'.repeat(400_000) }]];
      const small: Pair = ['model', 'claude-sonnet-4-5'];
      const bytes = ['context-1m-2025-08-07'];
      expect(holdOf(long, small, [name, bytes])).toBeGreaterThan(
        holdOf(long, small, ['future', bytes]),
      );
    },
  );

  // F385: a fallback whose model cannot be read is not held for: the choice is the provider's.
  it.each([[[{}]], [[5]], [[['claude-opus-5']]], [{ model: DEAR }], [[{ model: [DEAR] }]]])(
    'does not exist if the model of a fallback cannot be read: %j',
    (fallbacks) => {
      expect(answerTo(write(root(['fallbacks', fallbacks])), 'everything')).toMatchObject({
        status: 400,
        message: expect.stringContaining('its cost has no limit'),
      });
    },
  );
});

// F386: harmless JSON of any writing is refused or changed.
describe('a body that asks for nothing forbidden', () => {
  const deciding = new Set<string>(Object.values(DECIDING_MEMBERS).flat());
  const name = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }).filter((text) => !deciding.has(text)),
    fc.constantFrom(
      'text',
      'role',
      'content',
      'id',
      'input',
      'Speed',
      'model ',
      'MODEL',
      '__proto__',
    ),
  );
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, true, false, -0, 1e300, 5e-324, '', 'fast', 'us', DEAR),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }).map((list) => new Members(list)),
    ),
  }));
  const neutral = fc.subarray<Pair>([
    ['inference_geo', 'global'],
    ['billing_policy', { bill_to: 'self' }],
    ['mcp_servers', []],
    ['fallbacks', []],
    ['workspace_id', null],
    ['speed', 'standard'],
    ['service_tier', 'auto'],
    ['stream', null],
    ['tool_choice', null],
    ['tools', null],
    ['temperature', 0.5],
  ]);
  const style = fc.constantFrom(...STYLES.map(([, each]) => each), {});
  const inUnknownMembers = fc.array(fc.tuple(name, value), { maxLength: 6 });

  it('passes byte for byte', () => {
    fc.assert(
      fc.property(inUnknownMembers, neutral, value, style, (unknown, members, data, how) => {
        const messages = [{ role: 'user', content: [{ type: 'text', text: 'x', data }] }];
        const body = root(['messages', messages], ...members, ...unknown);
        const text = Buffer.from(write(body, how)).toString();
        for (const format of FORMATS) {
          const answer = answerTo(text, 'nothing', format);
          expect({ text, ...answer }).toMatchObject({ status: 200, isUnchanged: true });
        }
      }),
      { numRuns: runs(__filename, 'bodies') },
    );
  });
});

describe.each(['chat.completions', 'responses', 'input_tokens'] as const)(
  'a body of %s',
  (format) => {
    const content = format === 'chat.completions' ? 'messages' : 'input';
    const body = (more: Readonly<Record<string, unknown>>) => ({
      model: MODEL,
      [content]: [{ role: 'user', content: 'Hello' }],
      ...more,
    });
    const sent = (text: string) => {
      const job = { format, body: Buffer.from(text), hasLongContext: false };
      const preparation = PREPARERS.nothing(job, NO_LIMITS);
      if (preparation.outcome === 'too_large')
        throw new Error('refused for a limit that is not set');
      if (preparation.outcome === 'refused') return { message: preparation.refusal.message };
      const { chargeBound } = preparation;
      return { chargeBound, body: Buffer.from(preparation.body).toString() };
    };

    // F381
    it('is translated alike in every writing, and never asks the upstream for what is judged', () => {
      for (const [name, samples] of Object.entries(JUDGED)) {
        for (const value of samples) {
          const plain = sent(write(body({ [name]: value })));
          for (const [what, style] of STYLES) {
            expect({ what, ...sent(write(body({ [name]: value }), style)) }).toEqual({
              what,
              ...plain,
            });
          }
          if (plain.body === undefined) continue;
          const names = Object.keys(JSON.parse(plain.body) as object);
          expect(names.filter((each) => JUDGED_MEMBERS.includes(each as never))).toEqual([]);
        }
      }
    });
  },
);
