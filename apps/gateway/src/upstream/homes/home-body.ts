/**
 * The body of a request as a home expects it: with the home's names of the models, and, if the home
 * wants that, with the version and the betas. Only these bytes differ from the client's, at the
 * places that the scan of the body has found.
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

type BodyForm = Pick<HomeForm, 'models' | 'version' | 'versionIn'>;

/** @returns the body of the call itself if the home wants it as it is */
export function homeBody(call: UpstreamCall, form: BodyForm): SendableBody {
  const { body } = call;
  const splices = [...nameSplices(call, form), ...versionSplices(call, form)];
  return splices.length === 0 ? body : new SplicedBody(body, splices);
}

function nameSplices(
  { model, models, body }: UpstreamCall,
  { models: names }: BodyForm,
): readonly Splice[] {
  if (names === undefined) return [];
  const named = models ?? [{ path: 'model', model, span: undefined }];
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

function versionSplices(call: UpstreamCall, { version, versionIn }: BodyForm): readonly Splice[] {
  if (versionIn !== 'body') return [];
  const bytes = call.body.peek();
  const members = call.members ?? membersOf(bytes);
  const { 'anthropic-version': ofClient, 'anthropic-beta': betaHeader } = call.headers;
  const given = members.get(BETAS);
  const betas = joinedBetas(betaHeader, given && valueAt(bytes, given));
  const wanted = [
    [VERSION, version ?? ofClient ?? ''],
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

function membersOf(bytes: Uint8Array): ReadonlyMap<string, JsonSpan> {
  const scan = scanTopLevel(bytes, { isUtf8, mayRepeat: true });
  if (scan.outcome === 'refused') throw new Error('the body of a call is not a JSON object');
  return scan.members;
}

function valueAt({ buffer, byteOffset }: Uint8Array, { start, end }: JsonSpan): unknown {
  return parseJson(Buffer.from(buffer, byteOffset + start, end - start).toString());
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

  *pieces(): Generator<Uint8Array> {
    for (const bytes of this.#body.pieces()) yield* splice(bytes, this.#splices);
  }
}
