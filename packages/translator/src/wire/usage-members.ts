/** Adds members to the usage of an answer that is written already. */

import { encodeUtf8 } from './bytes.js';

/** Members that a caller knows only once it knows the usage, such as what the answer costs. */
export type UsageMembers = Readonly<Record<string, string>>;

/** What follows the last member of the usage: in a chat completion, and in a response. */
const REST_OF_BODY = ['}}', '},"access_programs":null}'];
/** The same at the end of a stream. */
const REST_OF_STREAM = ['}}\n\ndata: [DONE]\n\n', '},"access_programs":null}}\n\n'];

/**
 * Adds members to the `usage` of the body of a chat completion or a response, or of the tail of a
 * stream, without reading it again. An answer without usage stays as it is.
 *
 * @param written - As `translateResponse`, `translateMessage`, or the pipes of `createChatStream`
 * and `createResponseStream` have written it.
 * @example
 * import { addUsageMembers } from '@gateway/translator';
 *
 * const body = '{"usage":{"total_tokens":5}}';
 * addUsageMembers(body, { cost: '1' }); // '{"usage":{"total_tokens":5,"cost":"1"}}'
 */
export function addUsageMembers<Written extends string | Uint8Array>(
  written: Written,
  members: UsageMembers,
): Written;
export function addUsageMembers(
  written: string | Uint8Array,
  members: UsageMembers,
): string | Uint8Array {
  const added = `,${JSON.stringify(members).slice(1, -1)}`;
  if (typeof written === 'string') {
    const rest = REST_OF_BODY.find((end) => written.endsWith(end));
    return rest === undefined ? written : written.slice(0, -rest.length) + added + rest;
  }
  const rest = REST_OF_STREAM.find((end) => endsWith(written, end));
  if (rest === undefined) return written;
  const end = encodeUtf8(added + rest);
  const head = written.subarray(0, written.length - rest.length);
  const bytes = new Uint8Array(head.length + end.length);
  bytes.set(head);
  bytes.set(end, head.length);
  return bytes;
}

/** @param end - ASCII */
function endsWith(bytes: Uint8Array, end: string): boolean {
  const from = bytes.length - end.length;
  for (let at = end.length - 1; at >= 0; at -= 1) {
    if (bytes[from + at] !== end.charCodeAt(at)) return false;
  }
  return true;
}
