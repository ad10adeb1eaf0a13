/**
 * Reads from the bytes of a native request the members that the gateway needs, its cache points,
 * members that are forbidden on the shared account, and the facts that bound its charge. The bytes
 * are forwarded as they arrived, except that a `tool_choice` in another format is replaced.
 *
 * Only the limits of the specification and the gateway's own rules are checked here. The upstream
 * checks everything else.
 */

import { isUtf8 } from 'node:buffer';
import { normalizeToolChoice } from '@gateway/translator';
import { scanTopLevel } from '@gateway/translator/native';
import type { JsonSpan } from '@gateway/translator/native';
import { newRefusal } from '../../base/errors/refusal.js';
import type { Refusal } from '../../base/errors/refusal.js';
import type { PricedFeature } from '../../config/variables.js';
import { badRequest } from '../../http/refusal.js';
import type { ChargeFindings } from './charge-bound.js';
import { JUDGED_MEMBERS } from './deciding-members.js';
import { SHARED_ACCOUNT, findMemberProblem } from './judged-members.js';
import { KNOWN_MEMBERS } from './known-members.js';
import { NativeBodyScan } from './native-body-scan.js';
import type { NamedModel, ScannedBody } from './native-body-scan.js';
import { COUNT_FIELDS, MESSAGE_FIELDS, isGiven, readScalar, textOf } from './native-fields.js';
import type { FieldChecks, FoundMember } from './native-fields.js';

/** A remark names fewer of them. A body can have thousands. */
const MAX_UNKNOWN_MEMBERS = 10;

export type NativeInspection =
  | {
      readonly outcome: 'accepted';
      readonly model: string;
      /** Every model that the request names, in the order of its bytes; one of them is `model`. */
      readonly models: readonly NamedModel[];
      readonly maxTokens: number | undefined;
      /** The client's own buffer, or a copy in which only `tool_choice` differs. */
      readonly body: Uint8Array;
      readonly findings: ChargeFindings;
      /** Some members of the root that this version does not know. Clients choose these names. */
      readonly unknownMembers: readonly string[];
      readonly metadata: FoundMember | undefined;
      /** The members of the root, in {@link body}. */
      readonly members: ReadonlyMap<string, JsonSpan>;
    }
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  /** The body has more values than may be scanned here. */
  | { readonly outcome: 'too_many_values' };

export interface InspectOptions {
  /** Features that the operator allows, or has prices for. */
  readonly allow: ReadonlySet<PricedFeature>;
  readonly kind: 'message' | 'count_tokens';
}

/** @param maxValues - see `ScanOptions` */
export type InspectNative = (body: Uint8Array, maxValues: number) => NativeInspection;

/** The values of a `tool_choice` are counted from this length on, before it is parsed. */
const LONG_TOOL_CHOICE_BYTES = 64 * 1024;
const MAX_TOOL_CHOICE_VALUES = 10_000;

export function createNativeInspector({ allow, kind }: InspectOptions): InspectNative {
  const scan = new NativeBodyScan(allow);
  const fields = kind === 'message' ? MESSAGE_FIELDS : COUNT_FIELDS;
  return (body, maxValues) => inspect(body, scan.run(body, maxValues), { allow, fields });
}

export type ChargeScan =
  | {
      readonly outcome: 'scanned';
      readonly findings: ChargeFindings;
      /** `max_tokens` and its place in the body. */
      readonly limit: { readonly maxTokens: number; readonly span: JsonSpan };
    }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

/**
 * Finds the facts that bound the charge of a translated body. Such a body is valid and contains
 * nothing that is forbidden on the shared account. It is refused only if the translation nested it
 * too deeply or made a list too long: arguments of past calls are text in the client's body and
 * objects in this one, and lists of the client's body may be joined.
 */
export function createChargeScan(): (body: Uint8Array) => ChargeScan {
  const bodyScan = new NativeBodyScan(new Set());
  return (body) => {
    const { scan, findings } = bodyScan.run(body, Infinity);
    if (scan.outcome === 'refused') return refuse(scan.message);
    const span = scan.members.get('max_tokens');
    const maxTokens = span === undefined ? undefined : countOf({ body, span });
    if (span === undefined || maxTokens === undefined)
      throw new Error('a translation has no limit');
    return { outcome: 'scanned', findings, limit: { maxTokens, span } };
  };
}

function inspect(
  body: Uint8Array,
  { scan, problem, models, findings }: ScannedBody,
  { allow, fields }: { readonly allow: ReadonlySet<PricedFeature>; readonly fields: FieldChecks },
): NativeInspection {
  if (scan.outcome === 'refused') {
    if (scan.reason === 'too_many_values') return { outcome: 'too_many_values' };
    return refuse(scan.message);
  }
  const find = (name: string): FoundMember | undefined => {
    const span = scan.members.get(name);
    return span === undefined ? undefined : { body, span };
  };
  for (const [name, check] of fields) {
    const complaint = check(find(name));
    if (complaint !== undefined) return refuse(`${name}: ${complaint}`);
  }
  // SDKs that keep conversations on the server react to this error code: they send the whole
  // conversation instead.
  if (isGiven(find('thread'))) {
    const refusal = newRefusal('thread_unsupported_request', { problem: SHARED_ACCOUNT });
    return { outcome: 'refused', refusal };
  }
  const accountProblem = findRootProblem(find, allow) ?? problem;
  if (accountProblem !== undefined) return refuse(accountProblem);
  const model = String(readScalarAt(find('model')));
  const maxTokens = countOf(find('max_tokens'));
  const unknownMembers = [...scan.members.keys()]
    .filter((name) => !KNOWN_MEMBERS.has(name))
    .slice(0, MAX_UNKNOWN_MEMBERS);
  const metadata = find('metadata');
  const { members } = scan;
  const read = { model, models, maxTokens, findings, unknownMembers, metadata, members };
  const accepted = { outcome: 'accepted', ...read } as const;
  const toolChoice = find('tool_choice');
  if (!isGiven(toolChoice)) return { ...accepted, body };
  const native = withNativeToolChoice(toolChoice);
  if (native.outcome === 'refused') return native;
  if (native.body === body) return { ...accepted, body };
  const by = native.body.length - body.length;
  return { ...accepted, body: native.body, ...movedSpans(accepted, toolChoice.span, by) };
}

/**
 * The places of models and members after a member was replaced whose length has changed. The new
 * value names no model.
 */
function movedSpans(
  { models, members }: Pick<Accepted, 'models' | 'members'>,
  replaced: JsonSpan,
  by: number,
): Pick<Accepted, 'models' | 'members'> {
  const moved = (span: JsonSpan): JsonSpan => ({
    start: span.start < replaced.end ? span.start : span.start + by,
    end: span.end < replaced.end ? span.end : span.end + by,
  });
  const isReplaced = (span: JsonSpan | undefined): boolean =>
    span !== undefined && span.start > replaced.start && span.end < replaced.end;
  return {
    models: models
      .filter(({ span }) => !isReplaced(span))
      .map((each) => ({ ...each, span: each.span && moved(each.span) })),
    members: new Map([...members].map(([name, span]) => [name, moved(span)])),
  };
}

type Accepted = Extract<NativeInspection, { readonly outcome: 'accepted' }>;

/** @returns the problem of the root's members, if there is one */
function findRootProblem(
  find: (name: string) => FoundMember | undefined,
  allow: ReadonlySet<PricedFeature>,
): string | undefined {
  for (const name of JUDGED_MEMBERS) {
    const problem = findMemberProblem(name, find(name), allow);
    if (problem !== undefined) return `${name}: ${problem}`;
  }
  return undefined;
}

function readScalarAt(found: FoundMember | undefined): unknown {
  return found === undefined ? undefined : readScalar(found);
}

function countOf(found: FoundMember | undefined): number | undefined {
  const count = readScalarAt(found);
  return typeof count === 'number' ? count : undefined;
}

function withNativeToolChoice({
  body,
  span,
}: FoundMember):
  | { readonly outcome: 'native'; readonly body: Uint8Array }
  | { readonly outcome: 'refused'; readonly refusal: Refusal } {
  if (hasTooManyValues(body.subarray(span.start, span.end))) {
    return refuse(`tool_choice: must have at most ${String(MAX_TOOL_CHOICE_VALUES)} values`);
  }
  const normalized = normalizeToolChoice(JSON.parse(textOf(body, span)));
  switch (normalized.outcome) {
    case 'native':
      return { outcome: 'native', body };
    case 'refused':
      return refuse(normalized.problem.message);
    case 'normalized': {
      const replacement = Buffer.from(JSON.stringify(normalized.toolChoice));
      const pieces = [body.subarray(0, span.start), replacement, body.subarray(span.end)];
      return { outcome: 'native', body: Buffer.concat(pieces) };
    }
  }
}

function hasTooManyValues(toolChoice: Uint8Array): boolean {
  if (toolChoice.length <= LONG_TOOL_CHOICE_BYTES) return false;
  const scan = scanTopLevel(toolChoice, { isUtf8, maxValues: MAX_TOOL_CHOICE_VALUES });
  return scan.outcome === 'refused' && scan.reason === 'too_many_values';
}

function refuse(message: string): { readonly outcome: 'refused'; readonly refusal: Refusal } {
  return { outcome: 'refused', refusal: badRequest(message) };
}
