/** The tag that a request names in its `metadata`, in any of the formats. */

import { tagOf } from '../../observe/requests/client-headers.js';
import { textOf } from './native-fields.js';
import type { FoundMember } from './native-fields.js';

/** OpenAI admits 16 members of 64 and 512 characters. A larger object is not read. */
const MAX_METADATA_BYTES = 40_000;

/** @param member - Its name; `undefined` if the operator names none. */
export function readTag(
  metadata: FoundMember | undefined,
  member: string | undefined,
): string | undefined {
  if (metadata === undefined || member === undefined) return undefined;
  const { body, span } = metadata;
  if (span.end - span.start > MAX_METADATA_BYTES) return undefined;
  const value: unknown = JSON.parse(textOf(body, span));
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member))
    return undefined;
  return tagOf((value as Readonly<Record<string, unknown>>)[member]);
}
