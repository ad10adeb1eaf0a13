/**
 * Reads the kept responses that a request refers to. The body is searched for ids instead of
 * parsed, because it is parsed later, together with what they name. Ids in other places than those
 * of the format are found as well; the translation then has responses that it does not use.
 */

import { responseIdOfItem, type StoredResponses } from '@gateway/translator';
import { newRefusal } from '../../base/errors/refusal.js';
import type { Refusal } from '../../base/errors/refusal.js';
import { bufferOf, hasLengthOfId, idsIn, lookUp, membersWithIds, parseKept } from './look-up.js';
import type { IdPattern, MemberWithId } from './look-up.js';
import type { KeptResponse, ResponseMemory, ResponseOwner } from './response-memory.js';

/** The ids that a body names. */
export interface References {
  /** Of the responses that the request may continue. */
  readonly continued: readonly string[];
  /** Of those to whose items the request may refer, or under which its thinking is kept. */
  readonly referred: readonly string[];
  /** So many of the first in `referred` are needed: without one of them, the request is refused. */
  readonly needed: number;
}

/** How many names are looked up. */
export function namesIn({ continued, referred }: References): number {
  return continued.length + referred.length;
}

/** The kept responses that a request may refer to, by their ids. Can be sent to another thread. */
export interface RecalledResponses {
  /** Those that the request may continue. */
  readonly continued: ReadonlyMap<string, KeptResponse>;
  /** The texts of those to whose items the request may refer. */
  readonly referred: ReadonlyMap<string, Uint8Array>;
}

/** The conversation of a kept response, as an object. */
export interface KeptConversation {
  readonly items: readonly unknown[];
}

/** A request continues one response. More ids than this are not of one. */
const MAX_CONTINUED = 4;
/** Steps of an agent whose items one request refers to. */
const MAX_REFERRED = 500;
const TOO_MANY = newRefusal('too_many_references', { most: MAX_REFERRED });
/** Of the id of an item, as {@link ITEM_ID} has it. */
const MAX_ITEM_ID_LENGTH = 220;
const CLOSE_BRACE = 0x7d;
export const CONTINUED: IdPattern = {
  pattern: /"previous_response_id"\s*:\s*"([\w-]+?)"/g,
  isId: hasLengthOfId,
};
/**
 * A type of at most 8 letters, 1 to 200 letters, digits, `_` and `-`, and a number of at most 6
 * digits, joined by `_`. The end is compared backwards, once the quote is found: from `_` to `_`
 * forwards, an id that lacks only its end would cost three times as much.
 */
export const ITEM_ID: IdPattern = {
  pattern: /"id"\s*:\s*"([a-z]{1,8}_(?!_?\d{1,6}")[\w-]+?)"(?<=_\d{1,6}")/g,
  isId: (text) => hasLengthOfId(text.slice(text.indexOf('_') + 1, text.lastIndexOf('_'))),
};

/**
 * The responses that the body of a request of the Responses API may refer to.
 *
 * @returns a refusal if it refers to too many
 */
export function responsesNamedIn(body: Uint8Array): References | { readonly refusal: Refusal } {
  const text = bufferOf(body);
  const has = (member: string): boolean => text.includes(member);
  const continued = has('"previous_response_id"') ? idsIn(body, CONTINUED, MAX_CONTINUED) : [];
  const refers = has('"item_reference"') || hasBareReference(text);
  if (!refers) return { continued, referred: [], needed: 0 };
  const needed = new Set<string>();
  const others = new Set<string>();
  for (const member of membersWithIds(body, ITEM_ID)) {
    const id = responseIdOfItem(member.id);
    if (id === undefined) continue;
    if (isReference(member)) needed.add(id);
    else others.add(id);
    if (needed.size > MAX_REFERRED) return { refusal: TOO_MANY };
  }
  const referred = [...new Set([...needed, ...others])].slice(0, MAX_REFERRED);
  return { continued, referred, needed: needed.size };
}

const BEFORE_ID = /"type"\s*:\s*"item_reference"\s*,\s*$/;
const AFTER_ID = /\s*,\s*"type"\s*:\s*"item_reference"/y;
/** Of what stands before an id. Longer blanks only hide that an item is a reference. */
const MAX_BEFORE_ID = 60;

/**
 * Whether an item is surely a reference, because its type stands beside its id. Others are looked
 * up as well, but the absence of one does not end the search: they may be of another kind.
 */
function isReference({ text, start, end }: MemberWithId): boolean {
  AFTER_ID.lastIndex = end;
  return (
    AFTER_ID.test(text) || BEFORE_ID.test(text.slice(Math.max(0, start - MAX_BEFORE_ID), start))
  );
}

export type Recall =
  | { readonly outcome: 'recalled'; readonly recalled: RecalledResponses }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

/**
 * Rejects if the memory cannot be reached.
 *
 * @param reserve - Called with the bytes of all texts, before they are read, if there are any.
 * Returns a refusal if there is no memory for them.
 */
export async function recallReferred(
  { continued, referred, needed }: References,
  owner: ResponseOwner,
  memory: ResponseMemory,
  reserve: (bytes: number) => Refusal | undefined,
): Promise<Recall> {
  const whole = await lookUp(continued, (ids) => memory.measure(owner, ids));
  const partly = await lookUp(referred, (ids) => memory.measure(owner, ids, needed));
  let bytes = 0;
  for (const { conversation, response } of whole.values()) bytes += conversation + response;
  for (const { response } of partly.values()) bytes += response;
  const refusal = bytes === 0 ? undefined : reserve(bytes);
  if (refusal !== undefined) return { outcome: 'refused', refusal };
  const recalled = {
    continued: await lookUp([...whole.keys()], (ids) => memory.recall(owner, ids)),
    referred: await lookUp([...partly.keys()], (ids) => memory.recallResponses(owner, ids)),
  };
  return { outcome: 'recalled', recalled };
}

/**
 * Whether the body has an object with nothing but an id, as references without a type are written.
 * Each object that begins with an id is looked at, and nothing else is read.
 */
function hasBareReference(body: Buffer): boolean {
  const start = '{"id":"';
  for (let at = body.indexOf(start); at !== -1; at = body.indexOf(start, at)) {
    at += start.length;
    const end = body.subarray(at, at + MAX_ITEM_ID_LENGTH).indexOf('"');
    if (end !== -1 && body[at + end + 1] === CLOSE_BRACE) return true;
  }
  return false;
}

export function bytesOf({ continued, referred }: RecalledResponses): number {
  let bytes = 0;
  for (const { conversation, response } of continued.values()) {
    bytes += conversation.length + response.length;
  }
  for (const response of referred.values()) bytes += response.length;
  return bytes;
}

/** @param request - A parsed request of the Responses API. */
export function storedFor(
  request: unknown,
  { continued, referred }: RecalledResponses,
): StoredResponses {
  const { previous_response_id: id } = (request ?? {}) as {
    readonly previous_response_id?: unknown;
  };
  const kept = typeof id === 'string' ? continued.get(id) : undefined;
  const items = new Map<string, unknown>();
  for (const text of referred.values()) {
    for (const item of outputOf(text)) items.set(item.id, item);
  }
  if (kept === undefined) return { items };
  const { items: asked } = parseKept(kept.conversation) as KeptConversation;
  return { items, previous: [...asked, ...outputOf(kept.response)] };
}

function outputOf(response: Uint8Array): readonly { readonly id: string }[] {
  return (parseKept(response) as { readonly output: readonly { readonly id: string }[] }).output;
}
