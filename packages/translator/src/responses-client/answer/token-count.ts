/**
 * Translates the upstream's count of the tokens of a request.
 *
 * https://platform.claude.com/docs/en/api/messages-count-tokens
 * https://platform.openai.com/docs/api-reference/responses/input-tokens
 */

import { decodeStrictly } from '../../wire/bytes.js';
import { parseObject } from '../../wire/raw-json.js';

export type TokenCountTranslation =
  | {
      readonly outcome: 'translated';
      /** JSON text of the `response.input_tokens` object. */
      readonly body: string;
    }
  | { readonly outcome: 'malformed'; readonly reason: string };

/** Translates the body of a successful response. It is `malformed` if it has no count. */
export function translateTokenCount(nativeBody: string | Uint8Array): TokenCountTranslation {
  const json = typeof nativeBody === 'string' ? nativeBody : (decodeStrictly(nativeBody) ?? '');
  const count = parseObject(json)?.['input_tokens'];
  if (!Number.isSafeInteger(count) || Number(count) < 0) {
    return { outcome: 'malformed', reason: 'the body is not a count of tokens' };
  }
  const body = JSON.stringify({ object: 'response.input_tokens', input_tokens: count });
  return { outcome: 'translated', body };
}
