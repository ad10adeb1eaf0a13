/**
 * Tests the rules for the shared account at every place that the provider's own types name
 * (`upstream-places.json`, written by `scripts/upstream-places.mjs`). A newer SDK with another
 * place, tool or kind of usage fails here first: run the script, read the difference, and extend
 * the rules.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { defaultPriceTable } from '@gateway/billing';
import { readUsage } from '@gateway/translator';
import { TOOL_FAMILIES, familyOf } from '../../src/config/tool-families.js';
import type { PricedFeature } from '../../src/config/variables.js';
import { FREE_FORM, JUDGED_MEMBERS } from '../../src/exchange/preparation/deciding-members.js';
import { createPreparer } from '../../src/exchange/preparation/prepare-request.js';
import { NO_LIMITS } from '../support/no-limits.js';

const listFile = join(__dirname, 'upstream-places.json');
const { rootMembers, freeForm, toolTypes, places, iterationTypes } = JSON.parse(
  readFileSync(listFile, 'utf8'),
) as {
  rootMembers: string[];
  freeForm: string[];
  toolTypes: string[];
  places: Record<
    'tool' | 'file' | 'image' | 'document' | 'cache' | 'address' | 'model' | 'priced',
    string[]
  >;
  iterationTypes: string[];
};

const MODEL = defaultPriceTable().find('claude-sonnet-4-6')!;
const BASE = { model: MODEL.id, max_tokens: 0, messages: [{ role: 'user', content: 'a' }] };
const ALL: PricedFeature[] = ['web_search', 'code_execution', 'mcp', 'advisor', 'unknown_tools'];

const prepare = (body: object, ...rules: [PricedFeature[]?, ('none' | 'bounded')?]) =>
  prepareText(JSON.stringify(body), ...rules);

function prepareText(
  body: string,
  allow: PricedFeature[] = [],
  overdraft: 'none' | 'bounded' = 'none',
) {
  const chat = { jsonSchema: 'ignored', reasoning: 'none', cache: 'client' } as const;
  const rules = { models: [MODEL], fees: new Map(), allow: new Set(allow), overdraft, chat };
  const bytes = Buffer.from(body);
  const job = { format: 'messages', body: bytes, hasLongContext: false } as const;
  const preparation = createPreparer(rules)(job, NO_LIMITS);
  if (preparation.outcome === 'too_large') throw new Error('refused for a limit that is not set');
  return preparation.outcome === 'refused'
    ? { refusal: preparation.refusal.message, chargeBound: 0n, bytes: bytes.length }
    : { refusal: undefined, chargeBound: preparation.chargeBound!, bytes: bytes.length };
}

/** A request that has `value` at a path such as `messages[].content[].source`. */
function bodyWith(path: string, value: unknown): object {
  const nested = path
    .split('.')
    .reverse()
    .reduce<unknown>((inner, step) => {
      const name = step.replace('[]', '');
      const isList = step.endsWith('[]');
      const member = { [name]: isList ? [inner] : inner };
      return name === 'messages' ? { messages: [{ role: 'user', ...(inner as object) }] } : member;
    }, value);
  return { ...BASE, ...(nested as object) };
}

/** The path in the form that refusals use. */
const shown = (path: string): string => path.replaceAll('[]', '.0');

// F68: priced feature or tool, anywhere in the request: 400 that names the path; if allowed,
// included in the hold and charged.
it('the lists of places and names agree with the types of the installed SDK', () => {
  const script = join(__dirname, '../../../../scripts/upstream-places.mjs');
  execFileSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
});

describe('every member of a request', () => {
  /** Not judged by value. Other rules check some of them, such as `thread`. */
  const NOT_JUDGED = [
    // Sent as a header.
    'betas',
    'cache_control',
    'context_management',
    'diagnostics',
    // Of the same body only, so it addresses nothing of other customers.
    'fallback_credit_token',
    'max_tokens',
    'messages',
    'metadata',
    'model',
    'output_config',
    'output_format',
    'stop_sequences',
    'stream',
    'system',
    'thinking',
    'thread',
    'tool_choice',
    'tools',
  ];
  it('is harmless, or judged by its value', () => {
    expect([...NOT_JUDGED, ...JUDGED_MEMBERS].sort()).toEqual(rootMembers);
    for (const name of JUDGED_MEMBERS.filter((each) => each !== 'container')) {
      expect(prepare({ ...BASE, [name]: {} }).refusal).toMatch(new RegExp(`^${name}: `));
    }
  });

  // F205: members with a value that costs nothing: pass; with any other value they are refused by
  // name.
  it.each([
    { inference_geo: 'global' },
    { billing_policy: { bill_to: 'self' } },
    { mcp_servers: [] },
    { fallbacks: [] },
    { fallback_credit_token: 'fct_1' },
  ])('is accepted with a value that costs nothing: %j', (members) => {
    for (const overdraft of ['none', 'bounded'] as const) {
      expect(prepare({ ...BASE, ...members }, [], overdraft).refusal).toBeUndefined();
    }
  });

  // F205
  it.each([
    { inference_geo: 'us' },
    { billing_policy: { bill_to: 'self', linked: 'x' } },
    { mcp_servers: [{}] },
    { fallbacks: 'default' },
  ])('is refused with any other value: %j', (members) => {
    expect(prepare({ ...BASE, ...members }).refusal).toMatch(`${Object.keys(members)[0]!}: `);
  });

  // F230: a member says its neutral value and another one, of which the upstream may read either:
  // it is refused.
  it('is refused if its neutral value is only one of two', () => {
    const policy = '"billing_policy":{"bill_to":"x","bill_to":"self"}';
    const body = JSON.stringify(BASE).replace('{', `{${policy},`);
    expect(prepareText(body).refusal).toMatch(/^billing_policy: is not supported/);
  });

  it('that holds free-form data is skipped by its name, and no other is', () => {
    // `fallbacks` is not skipped: its entries have known members, and may have others. `properties`
    // is skipped with `input_schema`.
    const expected = freeForm.filter((name) => !['fallbacks', 'properties'].includes(name));
    // `caller` is free-form too: its `type` names the tool that made the call, and defines no tool.
    expect([...expected, 'caller'].sort()).toEqual([...FREE_FORM].sort());
    const all = Object.values(places).flat();
    for (const name of FREE_FORM) {
      expect(all.filter((path) => path.split('.').slice(0, -1).includes(name))).toEqual([]);
    }
  });
});

describe.each(places.tool)('a tool definition at %s', (path) => {
  // F68
  it.each(toolTypes)(
    'with type %s is known, and is refused by default if it costs more than tokens',
    (type) => {
      const family = TOOL_FAMILIES.get(familyOf(type));
      expect(family).toBeDefined();
      const { refusal } = prepare(bodyWith(path, { type, name: 'x' }), [], 'bounded');
      if (family?.feature === undefined) expect(refusal).toBeUndefined();
      else expect(refusal).toContain(`${shown(path)}.type: is not enabled on this gateway`);
      const allowed = family?.feature === undefined ? [] : [family.feature];
      expect(
        prepare(bodyWith(path, { type, name: 'x' }), allowed, 'bounded').refusal,
      ).toBeUndefined();
    },
  );

  // F68
  it('of an unknown type is refused, unless the operator allows it', () => {
    const body = bodyWith(path, { type: 'teleport_20270101', name: 'x' });
    expect(prepare(body).refusal).toMatch(/\.type: is not known to this gateway.*unknown_tools/);
    expect(prepare(body, ['unknown_tools']).refusal).toBeUndefined();
  });

  // F68
  it('of a tool that the provider runs adds the context windows of its samplings to the charge bound', () => {
    const servers = toolTypes.filter(
      (type) => TOOL_FAMILIES.get(familyOf(type))?.runs === 'server',
    );
    for (const type of servers) {
      const { refusal, chargeBound } = prepare(bodyWith(path, { type, name: 'x' }), ALL);
      if (familyOf(type) === 'advisor') {
        expect(refusal).toMatch(/its cost has no limit/);
      } else {
        const tokens = 10n * BigInt(MODEL.contextWindow);
        expect(chargeBound).toBe(tokens * MODEL.rates.cacheWrite5mPerToken);
      }
    }
  });
});

describe('a member that addresses an object of the account', () => {
  // F69: file of the shared account, anywhere: 400 that names the path.
  it.each(places.file)('such as the source of a file at %s is refused', (path) => {
    const { refusal } = prepare(bodyWith(path, { type: 'file', file_id: 'file_1' }));
    expect(refusal).toContain(`${shown(path)}.type: is not supported`);
  });

  // F69
  it.each(places.address)('such as %s is refused', (path) => {
    const { refusal } = prepare(bodyWith(path, 'id_1'));
    expect(refusal).toMatch(/: is not supported: it addresses objects of an account/);
  });

  // F231
  it.each([
    [{ skills: [{ type: 'anthropic', skill_id: 'pptx', version: 'latest' }] }],
    [{ id: null, skills: null }],
  ])('may not be the container %j, which is new, unless the operator allows code', (container) => {
    expect(prepare({ ...BASE, container }).refusal).toMatch(/^container: is not enabled/);
    expect(prepare({ ...BASE, container }, ['code_execution']).refusal).toBeUndefined();
  });

  // F231: a request names a container or a skill of the operator's account: it is refused; a new
  // container with the provider's own skills passes if code may be executed.
  it.each([
    '"container_1"',
    '{"id":"container_1"}',
    '{"id":"container_1","id":null}',
    '{"skills":[{"type":"custom","skill_id":"skill_1"}]}',
    '{"skills":[{"type":"custom","type":"anthropic","skill_id":"skill_1"}]}',
    '{"files":[]}',
    `{"skills":[${'{"type":"anthropic","skill_id":"pptx"},'.repeat(300).slice(0, -1)}]}`,
  ])('is never the container %s', (container) => {
    const body = JSON.stringify(BASE).replace('{', `{"container":${container},`);
    expect(prepareText(body, ['code_execution']).refusal).toMatch(/^container: is not supported/);
  });

  it('may be an output of code execution, if the operator allows the tool', () => {
    const path = 'messages[].content[].content.content[].file_id';
    expect(places.address).toContain(path);
    expect(prepare(bodyWith(path, 'file_1'), ['code_execution']).refusal).toBeUndefined();
  });
});

describe('a member that names a model', () => {
  const unknown = 'claude-unheard-of';
  /** They report what an earlier turn did, so they run nothing. */
  const REPORTED = ['messages[].content[].from.model', 'messages[].content[].to.model'];

  // F136
  it.each(places.model)('such as %s is found, or only reports an earlier turn', (path) => {
    const allow: PricedFeature[] = ['fallbacks', ...ALL];
    const { refusal } = prepare(bodyWith(path, unknown), allow, 'bounded');
    const isReported = REPORTED.includes(path);
    expect(refusal).toEqual(
      isReported
        ? undefined
        : expect.stringContaining(`${shown(path)}: "${unknown}" is not offered`),
    );
  });
});

describe('a member that changes the price, or needs an account', () => {
  const DEAR: Readonly<Record<string, unknown>> = {
    billing_policy: { bill_to: 'x' },
    compaction: {},
    container: { skills: [] },
    fallbacks: [{ model: MODEL.id }],
    inference_geo: 'us',
    mcp_servers: [{}],
    service_tier: 'priority',
    speed: 'fast',
    user_profile_id: 'id_1',
    workspace_id: 'id_1',
  };
  /** Where the person is who searches, and an option of edits that are refused by their type. */
  const HARMLESS = /\.user_location\.region$|\.pause_after_compaction$/;
  const refusalAt = (path: string, value: unknown) => {
    const isOfFallback = path.startsWith('fallbacks[]');
    return prepare(bodyWith(path, value), isOfFallback ? ['fallbacks'] : [], 'bounded').refusal;
  };

  // F320: an entry of `fallbacks` asks for fast mode, or another member that costs more, without
  // the operator's leave: 400 that names the member, as for that of the root.
  it.each(places.priced)('such as %s is refused, or costs nothing', (path) => {
    const name = path.split('.').at(-1)!;
    const refusal = refusalAt(path, DEAR[name] ?? 'us');
    if (HARMLESS.test(path)) expect(refusal).toBeUndefined();
    else expect(refusal).toMatch(`${shown(path)}: `);
  });

  const ofEntries = JUDGED_MEMBERS.filter((name) => name !== 'fallbacks');
  // F320
  it.each(ofEntries)('such as %s is judged alike in an entry of fallbacks', (name) => {
    const entry = (value: unknown) => refusalAt(`fallbacks[].${name}`, value);
    expect(entry(DEAR[name])).toBe(`fallbacks.0.${refusalAt(name, DEAR[name])!}`);
    expect(entry(null)).toBeUndefined();
  });

  // F320
  it('is judged where the types do not name it yet, if its value is a text', () => {
    expect(refusalAt('system[].speed', 'fast')).toMatch(/^system\.0\.speed: is not enabled/);
    expect(refusalAt('tools[].configs.speed', { enabled: true })).toBeUndefined();
    expect(prepare({ ...BASE, metadata: { speed: 'fast' } }).refusal).toBeUndefined();
  });

  // F320
  it('passes in an entry of fallbacks if it costs nothing, or is allowed', () => {
    const model = MODEL.id;
    const fallback = (members: object, ...allow: PricedFeature[]) =>
      prepare({ ...BASE, fallbacks: [{ model, ...members }] }, ['fallbacks', ...allow]).refusal;
    expect(fallback({ speed: 'standard', service_tier: 'auto' })).toBeUndefined();
    expect(fallback({ inference_geo: 'global', mcp_servers: [] })).toBeUndefined();
    expect(fallback({ speed: 'fast' }, 'fast_mode')).toBeUndefined();
    expect(fallback({ inference_geo: 'us' }, 'inference_geo')).toBeUndefined();
  });
});

describe('content with more tokens than bytes', () => {
  const tokens = ({ chargeBound }: { chargeBound: bigint }) =>
    Number(chargeBound / MODEL.rates.cacheWrite5mPerToken);

  it.each(places.image)('such as an image at %s is counted', (path) => {
    const counted = prepare(bodyWith(path, { type: 'image', source: { type: 'url' } }));
    expect(tokens(counted)).toBe(counted.bytes + 2_000 + 5_000);
  });

  it.each(places.document)(
    'such as a document at %s counts as the whole context window',
    (path) => {
      const counted = prepare(bodyWith(path, { type: 'document', source: { type: 'url' } }));
      expect(tokens(counted)).toBe(MODEL.contextWindow);
    },
  );
});

it.each(places.cache)('cache points at %s are counted, and a fifth is refused', (path) => {
  const point = { type: 'ephemeral' };
  const four = {
    ...BASE,
    system: Array(4).fill({ type: 'text', text: 'a', cache_control: point }),
  };
  expect(prepare(four).refusal).toBeUndefined();
  const place = bodyWith(path, point) as Record<string, unknown>;
  const system = [...four.system, ...((place['system'] as object[] | undefined) ?? [])];
  expect(prepare({ ...place, system }).refusal).toMatch(/^cache_control: at most 4 .*found 5$/);
});

it.each(iterationTypes)(
  'usage of an iteration of kind %s is either included, added, or reported as uncounted',
  (type) => {
    const counts = { input_tokens: 7, output_tokens: 8 };
    // The `message` entry alone has all the counts of the response. Any other entry is included in
    // them, added to them, or reported as uncounted.
    const reading = readUsage({
      ...counts,
      iterations: [
        { type: 'message', ...counts },
        { type, ...counts },
      ],
    });
    if (reading.outcome === 'invalid') throw new Error(reading.reason);
    expect(reading.remarks).toBeUndefined();
    const isIncluded = ['message', 'fallback_message'].includes(type);
    const isAdded = reading.usage.inputTokens === 14 && reading.usage.outputTokens === 16;
    expect([isIncluded, isAdded, reading.uncounted?.length === 1].filter(Boolean)).toHaveLength(1);
  },
);
