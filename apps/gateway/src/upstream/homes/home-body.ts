/**
 * The body of a request as a home expects it: with the home's names of the models, and, if the home
 * wants that, with the version and the betas, or without what its URL says. Only these bytes differ
 * from the client's, at the places that the scan of the body has found.
 */

import { isUtf8 } from 'node:buffer';
import { scanTopLevel } from '@gateway/translator/native';
import type { JsonSpan } from '@gateway/translator/native';
import type { HomeForm } from '../../config/upstream-target.js';
import { parseJson } from '../../base/parse-json.js';
import type { RequestBody, SendableBody } from '../request-body.js';
import type { UpstreamCall } from '../upstream.js';
import { addedBytes, jsonBytes, splice } from './splices.js';
import type { Splice } from './splices.js';

export interface BodyForm extends Pick<HomeForm, 'models'> {
  /** The member `anthropic_version`; `undefined`: the home wants none. */
  readonly version: string | undefined;
  /** Whether the betas become a member. */
  readonly betas: boolean;
  /** Members that the URL has instead. */
  readonly removed: readonly MovedMember[];
}

export type MovedMember = 'model' | 'stream';

/** @returns the body of the call itself if the home wants it as it is */
export function homeBody(call: UpstreamCall, form: BodyForm): SendableBody {
  const { body } = call;
  // What is added at the beginning comes before what is removed there.
  const splices = [
    ...versionSplices(call, form),
    ...nameSplices(call, form),
    ...removals(
      body.peek(),
      form.removed.flatMap((name) => membersOf(call).get(name) ?? []),
    ),
  ];
  return splices.length === 0 ? body : new SplicedBody(body, splices);
}

/** Whether the client wants a stream. */
export function wantsStream(call: UpstreamCall): boolean {
  const span = membersOf(call).get('stream');
  return span !== undefined && valueAt(call.body.peek(), span) === true;
}

function nameSplices(
  { model, models, body }: UpstreamCall,
  { models: names, removed }: BodyForm,
): readonly Splice[] {
  if (names === undefined) return [];
  const all = models ?? [{ path: 'model', model, span: undefined }];
  const named = removed.includes('model') ? all.filter(({ path }) => path !== 'model') : all;
  return named.map((each): Splice => {
    const name = each.model === undefined ? undefined : names[each.model];
    if (name === undefined) throw new Error('the home does not serve a model of the call');
    const span = each.span ?? modelOfTranslation(body.peek(), model);
    return { start: span.start, end: span.end, bytes: jsonBytes(name) };
  });
}

/** A translation begins with its model. */
function modelOfTranslation(bytes: Uint8Array, model: string): JsonSpan {
  const beginning = Buffer.from(`{"model":${JSON.stringify(model)}`);
  if (beginning.compare(bytes, 0, beginning.length) !== 0) {
    throw new Error('a translation does not begin with its model');
  }
  return { start: '{"model":'.length, end: beginning.length };
}

const VERSION = 'anthropic_version';
const BETAS = 'anthropic_beta';

function versionSplices(call: UpstreamCall, form: BodyForm): readonly Splice[] {
  if (form.version === undefined) return [];
  const bytes = call.body.peek();
  const members = membersOf(call);
  const given = members.get(BETAS);
  const betas = form.betas
    ? joinedBetas(call.headers['anthropic-beta'], given && valueAt(bytes, given))
    : undefined;
  const wanted = [
    [VERSION, form.version],
    [BETAS, betas],
  ] as const;
  const added: string[] = [];
  const splices: Splice[] = [];
  for (const [name, value] of wanted) {
    if (value === undefined) continue;
    const span = members.get(name);
    if (span === undefined) added.push(`${JSON.stringify(name)}:${JSON.stringify(value)},`);
    else splices.push({ start: span.start, end: span.end, bytes: jsonBytes(value) });
  }
  if (added.length === 0) return splices;
  const start = bytes.indexOf(0x7b) + 1;
  return [...splices, { start, end: start, bytes: Buffer.from(added.join('')) }];
}

/**
 * @param given - The member of the client's body, if it has one.
 * @returns undefined if there is nothing to add
 */
function joinedBetas(header: string | undefined, given: unknown): readonly string[] | undefined {
  const ofHeader = (header ?? '').split(',').map((beta) => beta.trim());
  const ofBody = Array.isArray(given) ? given.filter((beta) => typeof beta === 'string') : [];
  const betas = [...new Set([...ofHeader.filter((beta) => beta !== ''), ...ofBody])];
  return betas.length === 0 ? undefined : betas;
}

function membersOf({ members, body }: UpstreamCall): ReadonlyMap<string, JsonSpan> {
  if (members !== undefined) return members;
  const scan = scanTopLevel(body.peek(), { isUtf8, mayRepeat: true });
  if (scan.outcome === 'refused') throw new Error('the body of a call is not a JSON object');
  return scan.members;
}

function valueAt({ buffer, byteOffset }: Uint8Array, { start, end }: JsonSpan): unknown {
  return parseJson(Buffer.from(buffer, byteOffset + start, end - start).toString());
}

/**
 * Removes members of an object, each with its name and one comma.
 *
 * @param values - The values of the members.
 */
function removals(bytes: Uint8Array, values: readonly JsonSpan[]): readonly Splice[] {
  const spans = values.map(({ start, end }) => ({ start: nameStart(bytes, start), end }));
  const runs: { start: number; end: number }[] = [];
  for (const span of spans.sort((a, b) => a.start - b.start)) {
    const before = runs.at(-1);
    // Members one after the other go together: a comma between them belongs to both.
    if (before !== undefined && afterComma(bytes, before.end) === span.start) before.end = span.end;
    else runs.push(span);
  }
  return runs.map(({ start, end }) => {
    const next = afterComma(bytes, end);
    const whole =
      next === undefined ? { start: beforeComma(bytes, start), end } : { start, end: next };
    return { ...whole, bytes: NOTHING };
  });
}

const NOTHING = new Uint8Array();
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Where the name of a member begins. No name that is removed has a quote in it. */
function nameStart(bytes: Uint8Array, value: number): number {
  const colon = lastBefore(bytes, value);
  const end = lastBefore(bytes, colon);
  if (bytes[colon] !== COLON || bytes[end] !== QUOTE) throw new Error('a member has no name');
  return bytes.lastIndexOf(QUOTE, end - 1);
}

/** @returns where the next member begins; `undefined` if there is none */
function afterComma(bytes: Uint8Array, from: number): number | undefined {
  const comma = firstFrom(bytes, from);
  return bytes[comma] === COMMA ? firstFrom(bytes, comma + 1) : undefined;
}

/** @returns `from` if no member is before it */
function beforeComma(bytes: Uint8Array, from: number): number {
  const comma = lastBefore(bytes, from);
  return bytes[comma] === COMMA ? comma : from;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

function firstFrom(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at += 1;
  return at;
}

function lastBefore(bytes: Uint8Array, before: number): number {
  let at = before - 1;
  while (isSpace(bytes[at])) at -= 1;
  return at;
}

/** The pieces of a body that stay are not copied, so a large body is in memory once. */
class SplicedBody implements SendableBody {
  readonly #body: RequestBody;
  readonly #splices: readonly Splice[];
  readonly length: number;

  constructor(body: RequestBody, splices: readonly Splice[]) {
    this.#body = body;
    this.#splices = splices;
    this.length = body.length + addedBytes(splices);
  }

  take(): Uint8Array {
    return Buffer.concat(splice(this.#body.take(), this.#splices));
  }

  view(): Iterable<Uint8Array> {
    return splice(this.#body.peek(), this.#splices);
  }

  *pieces(): Generator<Uint8Array> {
    for (const bytes of this.#body.pieces()) yield* splice(bytes, this.#splices);
  }
}
