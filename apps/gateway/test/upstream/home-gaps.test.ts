/** What a home lacks is found in requests by name, and the documents say what each kind lacks. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { HOME_FEATURES, HOME_LACKS } from '../../src/config/home-lacks.js';
import type { HomeFeature, HomeLack } from '../../src/config/home-lacks.js';
import {
  AVAILABILITY,
  COMMON_GAPS,
  HOME_GAPS,
  undeclaredGaps,
} from '../../src/upstream/homes/gaps.js';
import { refusalForLacks } from '../../src/upstream/homes/refuse-lacking.js';
import { usedFeatures } from '../../src/upstream/homes/used-features.js';
import { RequestBody } from '../../src/upstream/request-body.js';
import type { AskedOf } from '../../src/upstream/upstream.js';

const HELLO = { model: 'claude-opus-5', messages: [{ role: 'user', content: 'Hello' }] };

function asked(body: object, headers: Readonly<Record<string, string>> = {}): AskedOf {
  const bytes = Buffer.from(JSON.stringify({ ...HELLO, ...body }));
  return {
    operation: 'messages',
    model: HELLO.model,
    accountId: 'acct_1',
    body: new RequestBody(bytes, () => undefined),
    headers,
  };
}

const tool = (type: string) => ({ tools: [{ name: 'own', input_schema: {} }, { type }] });
const said = (content: unknown, role = 'user') => ({ messages: [{ role, content }] });
const image = { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } };

/** One use of each feature, and where it is. */
const USES: Record<HomeFeature, readonly [request: AskedOf, path: string]> = {
  advisor: [asked(tool('advisor_20260301')), 'tools.1.type'],
  automatic_caching: [asked({ cache_control: { type: 'ephemeral' } }), 'cache_control'],
  betas: [asked({}, { 'anthropic-beta': 'some-beta' }), 'anthropic-beta'],
  code_execution: [asked(tool('code_execution_20250825')), 'tools.1.type'],
  fallbacks: [asked({ fallbacks: ['claude-haiku-4-5'] }), 'fallbacks'],
  fast_mode: [asked({ speed: 'fast' }), 'speed'],
  inference_geo: [asked({ inference_geo: 'us' }), 'inference_geo'],
  long_context: [asked({ betas: ['a', 'context-1m-2025-08-07'] }), 'betas.1'],
  mcp: [asked({ mcp_servers: [{ type: 'url', url: 'https://x.example' }] }), 'mcp_servers'],
  structured_outputs: [
    asked({ output_config: { format: { type: 'json_schema' } } }),
    'output_config.format',
  ],
  system_messages: [asked(said('Be brief', 'system')), 'messages.0.role'],
  task_budgets: [asked({ output_config: { task_budget: {} } }), 'output_config.task_budget'],
  tool_search: [asked(tool('tool_search_tool_regex_20251119')), 'tools.1.type'],
  url_sources: [
    asked(said([{ type: 'tool_result', content: [image] }])),
    'messages.0.content.0.content.0.source.type',
  ],
  web_fetch: [asked(tool('web_fetch_20250910')), 'tools.1.type'],
  web_search: [asked(tool('web_search_20250305')), 'tools.1.type'],
  web_search_filters: [asked(tool('web_fetch_20260209')), 'tools.1.type'],
};

it.each(HOME_FEATURES)('%s is found where a request uses it', (feature) => {
  const [request, path] = USES[feature];
  expect(usedFeatures(request).get(feature)).toBe(path);
  const refusalFor = refusalForLacks({ lacks: [feature] });
  expect(refusalFor?.(request)).toMatchObject({
    status: 400,
    param: path,
    message: `${path}: no upstream of this gateway offers ${feature} to your account`,
  });
  const others = HOME_FEATURES.filter((each) => !usedFeatures(request).has(each));
  expect(refusalForLacks({ lacks: others })?.(request)).toBeUndefined();
});

describe('nothing is found', () => {
  it.each([
    ['in a plain request', asked({ max_tokens: 5, system: 'system', stream: true })],
    ['in members that are null', asked({ speed: null, fallbacks: null, inference_geo: null })],
    ['in lists that are empty', asked({ fallbacks: [], mcp_servers: [], tools: [] })],
    ['in what a text or a result only mentions', asked(said('{"role":"system","type":"url"}'))],
    [
      'in the input of a tool',
      asked(said([{ type: 'tool_use', input: { source: image.source } }])),
    ],
    ['in an own tool that is not strict', asked({ tools: [{ name: 'a', strict: false }] })],
  ])('%s', (_where, request) => {
    expect([...usedFeatures(request)]).toEqual([]);
  });

  it('and the body is not looked through, if the home lacks no feature', () => {
    expect(refusalForLacks({ lacks: ['models', 'batches', 'files'] })).toBeUndefined();
    const refusalFor = refusalForLacks({ lacks: ['count_tokens'] });
    const sent = asked({ speed: 'fast' });
    sent.body?.drop();
    // Reading the body would throw.
    expect(refusalFor?.(sent)).toBeUndefined();
  });
});

describe('the table of gaps', () => {
  const document = readFileSync(join(__dirname, '../../../../docs/homes.md'), 'utf8');
  const cellsOf = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const rows = document
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map(cellsOf);
  const named = (text: string) => [...text.matchAll(/`(\w+)`/g)].map(([, name]) => name!);

  it.each(HOME_GAPS)('$kind has its row in the document, with its page and its date', (gaps) => {
    const row = rows.find(([kind]) => kind === gaps.kind);
    const [, lacks = '', read = ''] = row ?? [];
    const all = lacks.startsWith('these') ? [...COMMON_GAPS, ...named(lacks)] : named(lacks);
    expect(all.sort()).toEqual([...gaps.lacks].sort());
    const links = [...read.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link);
    expect([links, read.slice(1, 11)]).toEqual([gaps.pages, gaps.read]);
  });

  it('has what is common in a sentence of its own, with its page', () => {
    const [, sentence = ''] = /^These are (.*?)\.$/ms.exec(document) ?? [];
    expect(named(sentence)).toEqual([...COMMON_GAPS].sort());
    expect(document).toContain(`](${AVAILABILITY})`);
  });

  it('is compared by check-config with what an entry declares, if its address is known', () => {
    const at = (url: string, lacks?: readonly HomeLack[]) =>
      undeclaredGaps([
        {
          name: 'home',
          url,
          apiKey: 'k',
          lacks,
          requestsPerMinute: undefined,
          tokensPerMinute: undefined,
        },
      ]);
    const platform = 'https://aws-external-anthropic.us-east-1.api.aws';
    expect(at(platform)).toEqual([
      'UPSTREAMS: account "home": by its documents of 2026-12-01, Claude Platform on AWS lacks fast_mode',
    ]);
    expect(at(platform, ['fast_mode'])).toEqual([]);
    for (const { address, lacks } of HOME_GAPS) {
      const examples = [
        'https://ours.services.ai.azure.com/anthropic',
        'https://bedrock-mantle.eu-west-1.api.aws/anthropic',
        'https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic',
        'https://europe-west1-aiplatform.googleapis.com',
        platform,
      ].filter((url) => address?.test(url) === true);
      expect(examples).toHaveLength(address === undefined ? 0 : 1);
      for (const url of examples) expect(at(url, lacks)).toEqual([]);
    }
    expect(at('https://api.anthropic.com')).toEqual([]);
  });

  it('names each gap once in a row, and the document explains every name', () => {
    for (const { lacks } of HOME_GAPS) expect(new Set(lacks).size).toBe(lacks.length);
    const explained = new Set(named(document));
    expect(HOME_LACKS.filter((name) => !explained.has(name))).toEqual([]);
  });

  it('is what the recipes of the document name', () => {
    const recipes = [...document.matchAll(/^```json\n(.*?)^```/gms)].map(
      ([, text]) => JSON.parse(text!) as { readonly name?: string; readonly lacks?: string[] },
    );
    const kinds: Readonly<Record<string, string>> = {
      'aws-platform': 'Claude Platform on AWS',
      foundry: 'Foundry, hosted on Azure',
      'bedrock-eu': 'Bedrock, `bedrock-mantle`',
    };
    for (const [name, kind] of Object.entries(kinds)) {
      const recipe = recipes.find((each) => each.name === name);
      const gaps = HOME_GAPS.find((each) => each.kind === kind);
      expect([name, [...(recipe?.lacks ?? [])].sort()]).toEqual([name, [...gaps!.lacks].sort()]);
    }
  });
});
