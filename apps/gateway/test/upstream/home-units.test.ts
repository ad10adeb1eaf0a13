/** What a home changes in bodies and answers, byte for byte, and its credential. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Dispatcher } from 'undici';
import { createMessageSkimmer } from '@gateway/translator/native';
import type { AnthropicTarget } from '../../src/config/upstream-target.js';
import { createNativeInspector } from '../../src/exchange/preparation/inspect-native-request.js';
import { AccountPool } from '../../src/upstream/accounts/account-pool.js';
import { anthropicUpstream } from '../../src/upstream/anthropic.js';
import type { UpstreamClient } from '../../src/upstream/client.js';
import { openKey } from '../../src/upstream/homes/credentials/file-key.js';
import { hideIdentities } from '../../src/upstream/homes/hide-identities.js';
import { createOwnNames } from '../../src/upstream/homes/own-names.js';
import { RequestBody } from '../../src/upstream/request-body.js';
import type { UpstreamCall, UpstreamRequest } from '../../src/upstream/upstream.js';
import { upstreamOf } from '../../src/upstream/upstream-of.js';

const PLAIN = { url: 'https://home.example/anthropic/v1/', apiKey: 'the-key' };
const NAMES = { 'claude-opus-5': 'anthropic.claude-opus-5', 'claude-haiku-4-5': 'my-haiku' };
const inspect = createNativeInspector({ allow: new Set(['fallbacks']), kind: 'message' });

/** A native call with the spans that the scan of its body found. */
function callWith(text: string, headers: Readonly<Record<string, string>> = {}): UpstreamCall {
  const inspection = inspect(Buffer.from(text), Infinity);
  if (inspection.outcome !== 'accepted') throw new Error(JSON.stringify(inspection));
  const { model, models, members, body } = inspection;
  return { ...translatedCall(Buffer.from(body).toString(), model), models, members, headers };
}

function translatedCall(text: string, model: string): UpstreamCall {
  const bytes = Buffer.from(text);
  return {
    operation: 'messages',
    model,
    query: '?beta=true',
    headers: {},
    body: new RequestBody(bytes, () => undefined),
    bodyBytes: bytes.length,
    keyId: 'key_1',
    accountId: 'acct_1',
    client: { destroyed: false },
  };
}

/** The request to a home, with its body both whole and in pieces. */
function sentTo(home: Partial<AnthropicTarget>, newCall: () => UpstreamCall) {
  const upstream = upstreamOf({ ...PLAIN, ...home });
  const { path, headers, body } = upstream.request(newCall()) as UpstreamRequest;
  const whole = Buffer.from(body.take()).toString();
  const again = (upstream.request(newCall()) as UpstreamRequest).body;
  const length = again.length;
  expect(Buffer.concat([...again.pieces()]).toString()).toBe(whole);
  expect(Buffer.byteLength(whole)).toBe(length);
  return { path, headers, text: whole };
}

const ODD =
  ' {"max_tokens" : 1e1,\n"model":"claude-op\\u0075s-5", "messages":[{"role":"user","content":"claude-opus-5 \\ud83d\\ude00 é"}]}\n';

describe('a request to an API with the model in its URL', () => {
  const GIVEN = { api: 'vertex', models: NAMES } as const;
  const INVOKED = { api: 'invoke', models: NAMES } as const;
  const VERSION = '"anthropic_version":"bedrock-2023-05-31",';
  const REST = '"messages":[{"role":"user","content":"{\\"model\\":1, é"}],"max_tokens" : 1e1';
  const sent = (home: Partial<AnthropicTarget>, text: string, headers = {}) =>
    sentTo(home, () => callWith(text, headers));

  it.each([
    ['both first', `{"model":"claude-opus-5","stream":true,${REST}}`, `{${VERSION}${REST}}`],
    ['both last', `{${REST},"stream":true , "model":"claude-opus-5" }`, `{${VERSION}${REST} }`],
    ['apart', `{ "stream" : true,\n${REST},"mod\\u0065l":"claude-opus-5"}`, `{${VERSION} ${REST}}`],
    [
      'around another',
      `{"model":"claude-opus-5","max_tokens":1,"stream":true,"messages":[{"role":"user","content":"x"}]}`,
      `{${VERSION}"max_tokens":1,"messages":[{"role":"user","content":"x"}]}`,
    ],
  ])('lacks what the URL says, %s', (_where, text, expected) => {
    const { path, text: body } = sent(INVOKED, text);
    expect(body).toBe(expected);
    expect(path).toBe('/anthropic/model/anthropic.claude-opus-5/invoke-with-response-stream');
  });

  it('keeps whether to stream where the home wants it in the body too', () => {
    const { path, headers, text } = sent(
      { ...GIVEN, url: 'https://home.example/v1/projects/p/locations/global' },
      `{${REST},"stream":true,"model":"claude-haiku-4-5"}`,
      { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a,b' },
    );
    expect(text).toBe(`{"anthropic_version":"2026-10-21",${REST},"stream":true}`);
    expect(path).toBe(
      '/v1/projects/p/locations/global/publishers/anthropic/models/my-haiku:streamRawPredict',
    );
    expect(headers).toEqual({ 'anthropic-beta': 'a,b', 'x-api-key': 'the-key' });
  });

  it('is that of a translation too', () => {
    const { path, text } = sentTo(INVOKED, () =>
      translatedCall('{"model":"claude-opus-5","max_tokens":1,"stream":false}', 'claude-opus-5'),
    );
    expect([path, text]).toEqual([
      '/anthropic/model/anthropic.claude-opus-5/invoke',
      `{${VERSION}"max_tokens":1}`,
    ]);
  });

  it('has an id that is a resource as one part of the path', () => {
    const arn = 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/a b';
    const { path } = sent(
      { ...INVOKED, models: { 'claude-opus-5': arn } },
      `{${REST},"model":"claude-opus-5"}`,
    );
    expect(path).toBe(
      '/anthropic/model/arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile%2Fa%20b/invoke',
    );
  });
});

it('OpenTelemetry’s name of a home follows its address', () => {
  const named = (url: string) => upstreamOf({ url, apiKey: 'k' }).providerName;
  expect(
    [
      'https://api.anthropic.com',
      'https://aws-external-anthropic.us-east-1.api.aws',
      'https://bedrock-mantle.eu-west-1.api.aws/anthropic',
      'https://bedrock-runtime.eu-west-1.amazonaws.com/anthropic',
      'https://ours.services.ai.azure.com/anthropic',
      'https://europe-west1-aiplatform.googleapis.com/v1',
    ].map(named),
  ).toEqual([
    'anthropic',
    'anthropic',
    'aws.bedrock',
    'aws.bedrock',
    'azure.ai.inference',
    'gcp.vertex_ai',
  ]);
});

it.each([
  ['User: arn:aws:sts::123456789012:assumed-role/x/y is not authorized', ['123', 'assumed-role']],
  ["Permission denied on resource '//aiplatform.googleapis.com/projects/p-1/locations/l'", ['p-1']],
  ['Publisher Model `projects/p-1/locations/l` was not found', ['p-1']],
  ['Project `p-1` is not allowed to use it', ['p-1']],
  ['/subscriptions/0f1e2d3c-aaaa-bbbb-cccc-0123456789ab/resourceGroups/ours', ['ours', '0f1e']],
  [
    "AADSTS700016: Application with identifier 'app-1' was not found in the directory 't-1'.",
    ['app-1', 't-1'],
  ],
  ['gateway@p-1.iam.gserviceaccount.com lacks it', ['gateway@', 'p-1']],
  ['Workspace wrkspc_01AbC was not found, account 123456789012', ['01AbC', '1234']],
  ['see https://p-1.services.ai.azure.com/x', ['p-1']],
])('hides identities in "%s"', (text, hidden) => {
  for (const each of hidden) expect(hideIdentities(text)).not.toContain(each);
});

it.each([
  'prompt is too long: 1234567 tokens > 200000 maximum',
  'messages.0.content.1.image.source: image exceeds 5 MB maximum: 123456789 bytes > 5242880 bytes',
  'max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens',
])('keeps "%s"', (text) => {
  expect(hideIdentities(text)).toBe(text);
});

describe('a request to a home', () => {
  it('has the bytes of the body itself if the home has no names of its own', () => {
    const call = callWith(ODD, { 'anthropic-version': '2023-06-01' });
    for (const home of [{}, { auth: 'bearer', headers: { 'x-home': 'a' } }] as const) {
      const request = anthropicUpstream({ ...PLAIN, ...home }).request(call) as UpstreamRequest;
      expect(request.body).toBe(call.body);
    }
  });

  it('differs only in the name of the model', () => {
    const { path, text } = sentTo({ models: NAMES }, () => callWith(ODD));
    expect(text).toBe(ODD.replace('"claude-op\\u0075s-5"', '"anthropic.claude-opus-5"'));
    expect(path).toBe('/anthropic/v1/messages?beta=true');
  });

  it('has the name of each model, wherever the scan found it, also after a replaced member', () => {
    const body = (choice: string, opus: string, haiku: string): string =>
      `{"tool_choice":${choice},"max_tokens":5,"fallbacks":[{"model":"${haiku}"}],"model":"${opus}",` +
      '"messages":[{"role":"user","content":"x"}],"metadata":{"model":"claude-opus-5"}}';
    const given = body('"required"', 'claude-opus-5', 'claude-haiku-4-5');
    const { text } = sentTo({ models: NAMES }, () => callWith(given));
    expect(text).toBe(body('{"type":"any"}', 'anthropic.claude-opus-5', 'my-haiku'));
  });

  it('has the name of a translation, which begins with its model', () => {
    const given = '{"model":"claude-haiku-4-5","max_tokens":5,"messages":[]}';
    const { text } = sentTo({ models: NAMES }, () => translatedCall(given, 'claude-haiku-4-5'));
    expect(text).toBe(given.replace('claude-haiku-4-5', 'my-haiku'));
  });

  it('carries the credential in one header, and the headers of the home', () => {
    const client = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'a,b', traceparent: 't' };
    const call = () => callWith(ODD, client);
    expect(sentTo({}, call).headers).toEqual({ ...client, 'x-api-key': 'the-key' });
    const headers = { 'anthropic-workspace-id': 'wrkspc_1' };
    expect(sentTo({ headers, version: '2026-10-21' }, call).headers).toEqual({
      ...client,
      'anthropic-version': '2026-10-21',
      'anthropic-workspace-id': 'wrkspc_1',
      'x-api-key': 'the-key',
    });
    expect(sentTo({ auth: 'bearer' }, call).headers).toEqual({
      ...client,
      authorization: 'Bearer the-key',
    });
  });

  it('has version and betas as members of the body, if the home wants them there', () => {
    const home = { versionIn: 'body', version: 'bedrock-2023-05-31', models: NAMES } as const;
    const { headers, text } = sentTo(home, () =>
      callWith(ODD, { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'a, b' }),
    );
    expect(headers).toEqual({ 'x-api-key': 'the-key' });
    expect(text).toBe(
      ODD.replace('"claude-op\\u0075s-5"', '"anthropic.claude-opus-5"').replace(
        '{',
        '{"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["a","b"],',
      ),
    );
    const translated = '{"model":"claude-haiku-4-5","max_tokens":5}';
    const version = { 'anthropic-version': '2023-06-01' };
    const sent = sentTo({ versionIn: 'body' }, () => ({
      ...translatedCall(translated, 'claude-haiku-4-5'),
      headers: version,
    }));
    expect(sent.text).toBe(`{"anthropic_version":"2023-06-01",${translated.slice(1)}`);
  });

  it('has each of these members once, with the betas of header and body', () => {
    const given = (version: string, betas: string): string =>
      `{"anthropic_version":${version},"model":"claude-opus-5","max_tokens":5,` +
      `"messages":[{"role":"user","content":"x"}],"anthropic_beta":${betas}}`;
    const { text } = sentTo({ versionIn: 'body', version: 'v1' }, () =>
      callWith(given('"mine"', '["b","c"]'), { 'anthropic-beta': 'a,b' }),
    );
    expect(text).toBe(given('"v1"', '["a","b","c"]'));
  });
});

describe('the lacks of a home', () => {
  const asked = { operation: 'messages', model: 'claude-opus-5', accountId: 'acct_1' } as const;

  it('are none without names and lacks', () => {
    expect(anthropicUpstream(PLAIN).refusalFor).toBeUndefined();
    expect(anthropicUpstream({ ...PLAIN, lacks: ['models'] }).refusalFor).toBeUndefined();
  });

  it('are refused by name: a model, one of several models, and the counting of tokens', () => {
    const home = anthropicUpstream({ ...PLAIN, models: NAMES, lacks: ['count_tokens'] });
    expect(home.refusalFor?.(asked)).toBeUndefined();
    expect(home.refusalFor?.({ ...asked, model: 'claude-opus-4-8' })).toMatchObject({
      status: 404,
      message: 'model: no upstream of this gateway serves claude-opus-4-8 to your account',
    });
    const models = [
      { path: 'model', model: 'claude-opus-5' },
      { path: 'fallbacks.0.model', model: 'claude-opus-4-8' },
    ];
    expect(home.refusalFor?.({ ...asked, models })?.param).toBe('fallbacks.0.model');
    const ofProvider = [{ path: 'fallbacks', model: undefined }];
    expect(home.refusalFor?.({ ...asked, models: ofProvider })?.param).toBe('fallbacks');
    expect(home.refusalFor?.({ ...asked, operation: 'count_tokens' })?.message).toMatch(
      /^count_tokens: .* claude-opus-5$/,
    );
  });
});

const MESSAGE = (opus: string, haiku: string): string =>
  `{ "model":"${opus}" ,"id":"msg_1","content":[{"type":"text","text":"anthropic.claude-opus-5"},` +
  `{"type":"fallback","from":{"model":"${opus}"},"to":{"model":"${haiku}"}},` +
  '{"type":"tool_use","name":"t","input":{"model":"my-haiku","at":{"model":"my-haiku"}}}],' +
  `"usage":{"input_tokens":1,"output_tokens":2,"iterations":[{"model":"${haiku}","input_tokens":1}]}}`;
const THEIRS = MESSAGE('anthropic.claude-opus-5', 'my-haiku');
const OURS = MESSAGE('claude-opus-5', 'claude-haiku-4-5');
const names = createOwnNames(NAMES);

describe("an answer under a home's names", () => {
  it('gets our ids in its members named model, and keeps all other bytes', () => {
    expect(names.inBody(Buffer.from(THEIRS)).toString()).toBe(OURS);
  });

  it('is the same buffer if it has none of these names, or is no JSON', () => {
    for (const text of [OURS, '<html>my-haiku', '{"model":"my-haiku"', '{"model":"my-haiku-2"}']) {
      const body = Buffer.from(text);
      expect(names.inBody(body)).toBe(body);
    }
  });

  it('gets our ids in the message of an error', () => {
    const error = (model: string): string =>
      `{"type":"error","error":{"type":"not_found_error","message":"model: ${model} and my-haiku"}}`;
    expect(names.inBody(Buffer.from(error('anthropic.claude-opus-5'))).toString()).toBe(
      error('claude-opus-5').replace('my-haiku', 'claude-haiku-4-5'),
    );
  });

  it('prefers the longer of two names of which one begins with the other', () => {
    const similar = createOwnNames({ 'claude-opus-5': 'opus', 'claude-opus-4-8': 'opus-old' });
    const error = (text: string) => Buffer.from(`{"error":{"message":"${text}"}}`);
    const renamed = similar.inBody(error('opus-old, opus')).toString();
    expect(renamed).toBe('{"error":{"message":"claude-opus-4-8, claude-opus-5"}}');
  });

  it('is charged under our ids if only its usage is read', () => {
    const skimmer = createMessageSkimmer();
    const iteration = (model: string) => ({ ...USAGE, type: 'message', model });
    const iterations = [iteration('anthropic.claude-opus-5'), iteration('my-haiku')];
    const usage = { input_tokens: 2, output_tokens: 4, iterations };
    skimmer.push(Buffer.from(JSON.stringify({ id: 'msg_1', model: 'my-haiku', usage })));
    const read = names.inSkimmed(skimmer.end()!);
    expect(read.model).toBe('claude-haiku-4-5');
    expect(JSON.stringify(read)).not.toMatch(/my-haiku|anthropic\./);
    expect(JSON.stringify(read)).toContain('claude-opus-5');
  });
});

const USAGE = { input_tokens: 1, output_tokens: 2 };
const STREAM = (opus: string, haiku: string, eol = '\n'): string =>
  [
    `event: message_start${eol}data: {"type":"message_start","message":{"model":"${opus}","usage":{"input_tokens":1}}}${eol}${eol}`,
    `event: ping${eol}data: {"type": "ping"}${eol}${eol}`,
    `event: content_block_start${eol}data: {"type":"content_block_start","content_block":{"type":"fallback","to":{"model":"${haiku}"}}}${eol}${eol}`,
    `event: content_block_delta${eol}data: {"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\\"model\\":\\"my-haiku\\"}","model":"my-haiku"}}${eol}${eol}`,
    `event: message_delta${eol}data:{"usage":{"iterations":[{"model":"${haiku}"}]}}${eol}${eol}`,
    `event: error${eol}data: {"type":"error","error":{"type":"api_error","message":"no ${haiku}"}}${eol}${eol}`,
    `event: message_stop${eol}data: {"type":"message_stop"}`,
  ].join('');

function through(text: string, sizes: (at: number) => number): string {
  const stream = names.openStream();
  const bytes = Buffer.from(text);
  const out: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = sizes(at);
    out.push(stream.push(bytes.subarray(at, at + size)));
    at += size;
  }
  return Buffer.concat([...out, stream.end?.() ?? new Uint8Array(0)]).toString();
}

describe("a stream under a home's names", () => {
  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('gets our ids with lines that end with %s, however it is split', (_name, eol) => {
    const theirs = STREAM('anthropic.claude-opus-5', 'my-haiku', eol);
    const ours = STREAM('claude-opus-5', 'claude-haiku-4-5', eol);
    expect(through(theirs, () => theirs.length)).toBe(ours);
    expect(through(theirs, () => 1)).toBe(ours);
    for (let cut = 1; cut < theirs.length; cut += 1) {
      expect(through(theirs, (at) => (at === 0 ? cut : theirs.length))).toBe(ours);
    }
  });

  it('passes whole events on at once, and events without our names as they are', () => {
    const stream = names.openStream();
    const [start = '', ping = ''] = STREAM('claude-opus-5', 'x').split(/(?<=\n\n)/);
    expect(Buffer.from(stream.push(Buffer.from(start + ping.slice(0, 9)))).toString()).toBe(start);
    expect(Buffer.from(stream.push(Buffer.from(ping.slice(9)))).toString()).toBe(ping);
  });

  it('passes a large event on as it arrives', () => {
    const stream = names.openStream();
    const large = Buffer.from(
      `event: content_block_start\ndata: {"text":"${'x'.repeat(3e6)}"}\n\n`,
    );
    const first = stream.push(large.subarray(0, 2e6));
    expect(first.length).toBe(2e6);
    expect(Buffer.concat([first, stream.push(large.subarray(2e6))]).equals(large)).toBe(true);
  });
});

describe('the credential of a home', () => {
  let folder: string;
  let file: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'home-credential-'));
    file = join(folder, 'key');
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('is read again when its file changes, and stays while the file cannot be used', () => {
    writeFileSync(file, 'first\n');
    let at = 0;
    const problems: string[] = [];
    const credential = openKey(
      { apiKey: 'first', apiKeyFile: file },
      { now: () => at, onProblem: (reason) => problems.push(reason) },
    );
    const next = (): string => {
      at += 1_000;
      return credential();
    };
    expect(credential()).toBe('first');
    writeFileSync(file, ' the-second \n');
    // Within a second, the file is not looked at.
    expect(credential()).toBe('first');
    expect(next()).toBe('the-second');
    writeFileSync(file, 'third\nwith-a-line');
    expect([next(), next()]).toEqual(['the-second', 'the-second']);
    writeFileSync(file, '');
    expect(next()).toBe('the-second');
    rmSync(file);
    expect([next(), next()]).toEqual(['the-second', 'the-second']);
    expect(problems).toEqual([
      expect.stringMatching(/^must be printable/),
      'is empty',
      expect.stringContaining('ENOENT'),
    ]);
    expect(problems.join()).not.toContain('third');
    writeFileSync(file, 'the-fourth');
    expect(next()).toBe('the-fourth');
  });
});

it('a 401 about a bearer token is about the account of a home that sends one', () => {
  const body = Buffer.from(
    '{"type":"error","error":{"type":"authentication_error","message":"invalid bearer token"}}',
  );
  const causeAt = (home: Partial<AnthropicTarget>) =>
    anthropicUpstream({ ...PLAIN, ...home }).readFailure(401, {}, body).cause;
  expect([causeAt({}), causeAt({ auth: 'bearer' })]).toEqual(['permission', 'account']);
});

it('the id of a request comes from the header of the home', () => {
  const { requestIdOf } = anthropicUpstream(PLAIN);
  expect(requestIdOf({ 'request-id': 'req_1', 'x-amzn-requestid': 'a' })).toBe('req_1');
  expect(requestIdOf({ 'x-amzn-requestid': 'a' })).toBe('a');
  expect(requestIdOf({ 'apim-request-id': 'b' })).toBe('b');
  expect(requestIdOf({})).toBeUndefined();
});

/** A client of a home that answers every request with an empty message. */
function answering(home: Partial<AnthropicTarget>, onSent: () => void): UpstreamClient {
  const upstream = anthropicUpstream({ ...PLAIN, ...home });
  return {
    ...(upstream.refusalFor && { refusalFor: upstream.refusalFor }),
    answersTo: () => upstream,
    send(_call, handler) {
      onSent();
      const controller = {} as Dispatcher.DispatchController;
      handler.onRequestStart?.(controller, undefined);
      handler.onResponseStart?.(controller, 200, {});
      handler.onResponseEnd?.(controller, {});
    },
    close: () => Promise.resolve(),
  };
}

it('requests go only to homes that serve their models, whatever home their key prefers', async () => {
  const sent: string[] = [];
  const account = (name: string, home: Partial<AnthropicTarget>) => ({
    name,
    requestsPerMinute: undefined,
    tokensPerMinute: undefined,
    client: answering(home, () => sent.push(name)),
  });
  const pool = new AccountPool(
    [account('a', { models: { 'claude-opus-5': 'x' } }), account('b', { models: NAMES })],
    {
      now: () => 0,
      maxWaitMs: 0,
      jitterMs: () => 0,
      onAnswer: () => undefined,
      onState: () => undefined,
    },
  );
  const ask = (keyId: string, model: string) =>
    new Promise<string | undefined>((resolve) => {
      const call: UpstreamCall = { ...translatedCall(`{"model":"${model}"}`, model), keyId };
      pool.send(call, {
        onResponseEnd: () => {
          resolve(call.account);
        },
      });
    });
  const keys = Array.from({ length: 20 }, (_, index) => `key_${String(index)}`);
  const answered = async (model: string) =>
    new Set(await Promise.all(keys.map((each) => ask(each, model))));
  expect(await answered('claude-haiku-4-5')).toEqual(new Set(['b']));
  expect(await answered('claude-opus-5')).toEqual(new Set(['a', 'b']));
  const asked = { operation: 'messages', accountId: 'acct_1' } as const;
  expect(pool.refusalFor?.({ ...asked, model: 'claude-haiku-4-5' })).toBeUndefined();
  expect(pool.refusalFor?.({ ...asked, model: 'claude-opus-4-8' })?.status).toBe(404);
});
