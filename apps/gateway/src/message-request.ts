/**
 * What a native request asks for, read from its bytes: the members the gateway must know, the cache
 * points, and whatever addresses the operator's own account or costs more than tokens. The bytes
 * themselves are forwarded as they came; only a foreign `tool_choice` is replaced, and nothing around it.
 *
 * Judged here is what the specification limits (sections 2.1 and 8) and what the gateway must refuse;
 * everything else is the upstream's to judge.
 */

import { isUtf8 } from 'node:buffer';
import { normalizeToolChoice } from '@gateway/translator';
import { scanTopLevel } from '@gateway/translator/native';
import type { JsonScan, JsonShape, JsonSpan } from '@gateway/translator/native';
import type { PricedFeature } from './config.js';
import type { Refusal } from './refusal.js';

export type Inspection =
  | {
      readonly outcome: 'accepted';
      readonly model: string;
      /** The client's own buffer, or a copy in which only `tool_choice` differs. */
      readonly body: Buffer;
    }
  | ({ readonly outcome: 'refused' } & Refusal);

export interface InspectOptions {
  /** Features that cost more than tokens and that the operator allows all the same. */
  readonly allow: ReadonlySet<PricedFeature>;
}

const MAX_CACHE_POINTS = 4;
const MAX_TOKENS = 2 ** 31 - 1;

export function createMessageInspector(options: InspectOptions): Inspect {
  return createInspector(options, MESSAGE_FIELDS);
}

export function createCountTokensInspector(options: InspectOptions): Inspect {
  return createInspector(options, COUNT_FIELDS);
}

export type Inspect = (body: Buffer) => Inspection;

function createInspector({ allow }: InspectOptions, fields: FieldChecks): Inspect {
  const scan = createScan(allow);
  return (body) => inspect(body, scan(body), { allow, fields });
}

function inspect(
  body: Buffer,
  { scan, problem }: ScannedBody,
  { allow, fields }: InspectOptions & { readonly fields: FieldChecks },
): Inspection {
  if (scan.outcome === 'refused') return refuse(scan.message);
  const { members } = scan;
  const valueOf = (name: string): unknown => {
    const span = members.get(name);
    return span === undefined ? undefined : parse(body, span);
  };
  for (const [name, check] of fields) {
    const span = members.get(name);
    const complaint = check(span === undefined ? undefined : { body, span });
    if (complaint !== undefined) return refuse(`${name}: ${complaint}`);
  }
  // Its own code: SDKs that hold conversations on the server fall back to sending them whole.
  if (members.has('thread') && valueOf('thread') !== null) {
    return { ...refuse(`thread: ${SHARED_ACCOUNT}`), errorCode: 'thread_unsupported_request' };
  }
  const accountProblem = findProblem(members, valueOf, allow) ?? problem;
  if (accountProblem !== undefined) return refuse(accountProblem);
  const toolChoice = members.get('tool_choice');
  if (toolChoice === undefined) return { outcome: 'accepted', model: modelOf(valueOf), body };
  return withNativeToolChoice(body, toolChoice, modelOf(valueOf));
}

function modelOf(valueOf: (name: string) => unknown): string {
  return String(valueOf('model'));
}

function withNativeToolChoice(body: Buffer, span: JsonSpan, model: string): Inspection {
  const normalized = normalizeToolChoice(parse(body, span));
  switch (normalized.outcome) {
    case 'native':
      return { outcome: 'accepted', model, body };
    case 'refused':
      return refuse(normalized.problem.message);
    case 'normalized': {
      const replacement = Buffer.from(JSON.stringify(normalized.toolChoice));
      const pieces = [body.subarray(0, span.start), replacement, body.subarray(span.end)];
      return { outcome: 'accepted', model, body: Buffer.concat(pieces) };
    }
  }
}

// --- Members of the root ----------------------------------------------------------------------

interface Found {
  readonly body: Buffer;
  readonly span: JsonSpan;
}

/** Tells what is wrong with a member, which may be absent. */
type FieldCheck = (found: Found | undefined) => string | undefined;
type FieldChecks = readonly (readonly [name: string, check: FieldCheck])[];

const optional =
  (isValid: (value: unknown) => boolean, rule: string): FieldCheck =>
  (found) =>
    found === undefined || isValid(parse(found.body, found.span)) ? undefined : rule;

const required =
  (isValid: (value: unknown) => boolean, rule: string): FieldCheck =>
  (found) =>
    found === undefined ? 'is required' : isValid(parse(found.body, found.span)) ? undefined : rule;

/** For values that may be large: their first byte tells their type, the rest is left alone. */
const startsWith =
  (openings: string, rule: string, isRequired: 'required' | 'optional'): FieldCheck =>
  (found) => {
    if (found === undefined) return isRequired === 'required' ? 'is required' : undefined;
    return openings.includes(String.fromCharCode(found.body[found.span.start] ?? 0))
      ? undefined
      : rule;
  };

const isUnit = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value <= 1;
const isCount = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS;
const isStrings = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** An array with at least one item. */
const messages: FieldCheck = (found) => {
  if (found === undefined) return 'is required';
  const { body, span } = found;
  if (body[span.start] !== 0x5b) return 'must be an array of {role, content}';
  for (let at = span.start + 1; at < span.end - 1; at += 1) {
    if (!isBlank(body[at])) return undefined;
  }
  return 'must not be empty';
};

const COUNT_FIELDS: FieldChecks = [
  [
    'model',
    required((value) => typeof value === 'string' && value !== '', 'must be a non-empty string'),
  ],
  ['messages', messages],
  ['system', startsWith('"[', 'must be a string or an array of text blocks', 'optional')],
  ['tools', startsWith('[', 'must be an array', 'optional')],
];

const MESSAGE_FIELDS: FieldChecks = [
  ...COUNT_FIELDS,
  ['max_tokens', required(isCount, `must be an integer from 0 to ${String(MAX_TOKENS)}`)],
  ['temperature', optional(isUnit, 'must be a number from 0 to 1')],
  ['top_p', optional(isUnit, 'must be a number from 0 to 1')],
  ['top_k', optional(isCount, 'must be an integer of at least 0')],
  ['stop_sequences', optional(isStrings, 'must be an array of strings')],
  ['stream', optional((value) => typeof value === 'boolean', 'must be a boolean')],
];

// --- The operator's account ---------------------------------------------------------------------

const SHARED_ACCOUNT = 'is not supported: it addresses objects of an account that many keys share';
const costs = (feature: PricedFeature): string =>
  `is not enabled on this gateway: it costs more than tokens (${feature})`;

/** Members whose mere presence, other than null, addresses the account or costs more than tokens. */
const ACCOUNT_MEMBERS = ['container', 'billing_policy', 'fallback_credit_token'];
const PRICED_MEMBERS: readonly (readonly [name: string, feature: PricedFeature])[] = [
  ['fallbacks', 'fallbacks'],
  ['mcp_servers', 'mcp'],
  ['compaction', 'compaction'],
  ['inference_geo', 'inference_geo'],
];

function findProblem(
  members: ReadonlyMap<string, JsonSpan>,
  valueOf: (name: string) => unknown,
  allow: ReadonlySet<PricedFeature>,
): string | undefined {
  const isGiven = (name: string): boolean => members.has(name) && valueOf(name) !== null;
  for (const name of ACCOUNT_MEMBERS) if (isGiven(name)) return `${name}: ${SHARED_ACCOUNT}`;
  for (const [name, feature] of PRICED_MEMBERS) {
    if (isGiven(name) && !allow.has(feature)) return `${name}: ${costs(feature)}`;
  }
  const speed = members.has('speed') ? valueOf('speed') : undefined;
  if (speed !== undefined && speed !== null && speed !== 'standard' && !allow.has('fast_mode')) {
    return `speed: ${costs('fast_mode')}`;
  }
  const tier = members.has('service_tier') ? valueOf('service_tier') : undefined;
  if (tier !== undefined && tier !== null && tier !== 'auto' && tier !== 'standard_only') {
    return 'service_tier: must be "auto" or "standard_only"';
  }
  return undefined;
}

/** Tools that the upstream runs itself and charges for by other measures than tokens. */
const PRICED_TOOLS: readonly (readonly [prefix: string, feature: PricedFeature])[] = [
  ['web_search', 'web_search'],
  ['code_execution', 'code_execution'],
  ['advisor', 'advisor'],
  ['mcp', 'mcp'],
];

// --- Inside messages, system and tools ------------------------------------------------------------

interface ScannedBody {
  readonly scan: JsonScan;
  /** What the gateway must refuse inside of the body's members. */
  readonly problem: string | undefined;
}

/**
 * Shapes of the places where a block or a tool stands. Look-alikes inside the data of a tool call, a
 * tool's schema or a text are none of them. They are made once and used by one scan after the other.
 */
function createScan(allow: ReadonlySet<PricedFeature>): (body: Buffer) => ScannedBody {
  let body: Buffer = NO_BODY;
  let cachePoints = 0;
  let firstProblem: string | undefined;
  const complain = (path: readonly (string | number)[], complaint: string): void => {
    firstProblem ??= `${path.join('.')}: ${complaint}`;
  };
  const cacheControl: JsonShape = {
    onValue(span, path) {
      const value = parse(body, span);
      if (value === null) return;
      cachePoints += 1;
      if (typeof value !== 'object' || !('type' in value) || value.type !== 'ephemeral') {
        complain(path, 'must be an object with type "ephemeral"');
      }
    },
  };
  const blockType: JsonShape = {
    onValue(span, path) {
      if (isText(body, span, 'container_upload')) complain(path, SHARED_ACCOUNT);
    },
  };
  const sourceType: JsonShape = {
    onValue(span, path) {
      if (isText(body, span, 'file')) complain(path, SHARED_ACCOUNT);
    },
  };
  const source: JsonShape = {
    member: (name) => (name === 'type' ? sourceType : name === 'content' ? blocks : undefined),
  };
  const block: JsonShape = {
    member(name) {
      switch (name) {
        case 'type':
          return blockType;
        case 'cache_control':
          return cacheControl;
        case 'source':
          return source;
        // Of a tool result, which holds blocks itself.
        case 'content':
          return blocks;
        default:
          return undefined;
      }
    },
  };
  const blocks: JsonShape = { item: block };
  const message: JsonShape = { member: (name) => (name === 'content' ? blocks : undefined) };
  const toolType: JsonShape = {
    onValue(span, path) {
      const type = parse(body, span);
      if (typeof type !== 'string') return;
      const priced = PRICED_TOOLS.find(([prefix]) => type.startsWith(prefix));
      if (priced !== undefined && !allow.has(priced[1])) complain(path, costs(priced[1]));
    },
  };
  const tool: JsonShape = {
    member: (name) =>
      name === 'type' ? toolType : name === 'cache_control' ? cacheControl : undefined,
  };
  const editType: JsonShape = {
    onValue(span, path) {
      const type = parse(body, span);
      if (typeof type === 'string' && type.startsWith('compact') && !allow.has('compaction')) {
        complain(path, costs('compaction'));
      }
    },
  };
  const previousMessage: JsonShape = {
    onValue(span, path) {
      if (parse(body, span) !== null) complain(path, SHARED_ACCOUNT);
    },
  };
  const edits: JsonShape = {
    item: { member: (name) => (name === 'type' ? editType : undefined) },
  };
  const root: Readonly<Record<string, JsonShape>> = {
    messages: { item: message },
    system: blocks,
    tools: { item: tool },
    cache_control: cacheControl,
    diagnostics: {
      member: (name) => (name === 'previous_message_id' ? previousMessage : undefined),
    },
    context_management: {
      member: (name) => (name === 'edits' ? edits : undefined),
    },
  };
  const shape: JsonShape = {
    member: (name) => (Object.hasOwn(root, name) ? root[name] : undefined),
  };
  return (scanned) => {
    body = scanned;
    cachePoints = 0;
    firstProblem = undefined;
    const scan = scanTopLevel(body, { shape, isUtf8 });
    body = NO_BODY;
    if (firstProblem === undefined && cachePoints > MAX_CACHE_POINTS) {
      firstProblem = `cache_control: at most ${String(MAX_CACHE_POINTS)} cache points may be set, found ${String(cachePoints)}`;
    }
    return { scan, problem: firstProblem };
  };
}

const NO_BODY = Buffer.alloc(0);

function parse(body: Buffer, { start, end }: JsonSpan): unknown {
  return JSON.parse(body.toString('utf8', start, end));
}

/** Whether a value is this text of ASCII characters, however it is written: escapes only make it longer. */
function isText(body: Buffer, span: JsonSpan, text: string): boolean {
  return span.end - span.start >= text.length + 2 && parse(body, span) === text;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function refuse(message: string): Inspection & { readonly outcome: 'refused' } {
  return { outcome: 'refused', status: 400, type: 'invalid_request_error', message };
}
