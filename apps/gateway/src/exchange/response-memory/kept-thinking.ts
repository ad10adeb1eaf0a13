/**
 * The thinking of answers of the chat format. Many clients show its text and send that back, but
 * not its signature, without which the upstream accepts no thinking. The blocks of an answer with
 * calls are therefore kept under the id of its first call, which every client sends back. See
 * docs/decisions/0067.
 */

import { bufferOf, hasLengthOfId, idsIn, lookUp, parseKept } from './look-up.js';
import type { IdPattern } from './look-up.js';
import type { RecalledResponses, References } from './referred-responses.js';
import type { ResponseMemory, ResponseOwner } from './response-memory.js';

/** A body with one of these members has thinking, or asks for it. */
const MARKERS = ['"reasoning_content"', '"reasoning"', '"thinking"'];
/** Clients that send one of these send the signatures, too. */
const SIGNED = ['"thinking_blocks"', '"reasoning_details"'];
/** Calls of one conversation that are looked up. The thinking of further ones is dropped. */
const MAX_CALLS = 1_000;
export const CALL_ID: IdPattern = {
  pattern: /"id"\s*:\s*"([\w-]+?)"/g,
  isId: hasLengthOfId,
};
const PREFIX = 'chat_';

/** The id under which the thinking of an answer is kept. */
export function thinkingId(callId: string): string {
  return `${PREFIX}${callId}`;
}

/** The thinking that the body of a chat request may need. */
export function thinkingNamedIn(body: Uint8Array): References {
  const text = bufferOf(body);
  const has = (member: string): boolean => text.includes(member);
  const isNeeded = MARKERS.some(has) && !SIGNED.some(has);
  const calls = isNeeded ? idsIn(body, CALL_ID, MAX_CALLS) : [];
  return { continued: [], referred: calls.map(thinkingId), needed: 0 };
}

/**
 * Reads the kept thinking that a body may need. Rejects if the memory cannot be reached.
 *
 * @param reserve - Called with the bytes of all blocks, before they are read. Returns whether there
 * is memory for them.
 */
export async function recallThinking(
  { referred: ids }: References,
  owner: ResponseOwner,
  memory: ResponseMemory,
  reserve: (bytes: number) => boolean,
): Promise<RecalledResponses | undefined> {
  const sizes = await lookUp(ids, (all) => memory.measure(owner, all));
  let bytes = 0;
  for (const { response } of sizes.values()) bytes += response;
  if (bytes === 0 || !reserve(bytes)) return undefined;
  const referred = await lookUp([...sizes.keys()], (all) => memory.recallResponses(owner, all));
  return { continued: new Map(), referred };
}

/** The blocks by the ids of calls, as objects. */
export function keptThinkingIn({
  referred,
}: RecalledResponses): ReadonlyMap<string, readonly unknown[]> {
  return new Map(
    [...referred].map(([id, text]) => [id.slice(PREFIX.length), parseKept(text) as unknown[]]),
  );
}
