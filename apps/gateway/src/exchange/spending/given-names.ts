/**
 * How a request names the member that spends. Only a key with that right is asked: for all others
 * these headers, and `user`, name nobody.
 *
 * The `metadata.user_id` of the native format is not read: Claude Code makes a new one for each
 * session.
 */

import type { Request } from 'express';
import type { Refusal } from '../../base/errors/refusal.js';
import { headerText } from '../../http/header-text.js';
import { badRequest } from '../../http/refusal.js';

export interface GivenName {
  readonly text: string;
  /** The header, or the member of the body, that has it. */
  readonly from: string;
}

const MEMBER_HEADER = 'x-gateway-member';
/** What the Claude gateway sends of a person who is signed in. The id comes first. */
const IDENTITY_HEADERS = ['x-claude-gateway-user-id', 'x-claude-gateway-user-email'] as const;

/** Up to 200 printable characters. */
const NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u;

/**
 * The names of one member, the best first: the first one that is known counts.
 *
 * @param user - The member of that name of a translated request.
 * @returns none if the request names nobody
 */
export function givenNames(
  req: Pick<Request, 'headers' | 'headersDistinct'>,
  user: string | undefined,
): { readonly names: readonly GivenName[] } | { readonly refusal: Refusal } {
  const own = headerName(req, MEMBER_HEADER);
  const names =
    own === undefined ? IDENTITY_HEADERS.map((header) => headerName(req, header)) : [own];
  const given = names.filter((name) => name !== undefined);
  if (given.length === 0 && user !== undefined && user.trim() !== '') {
    given.push({ text: user.trim(), from: 'user' });
  }
  for (const { text, from } of given) {
    if (NAME.test(text)) continue;
    const problem = `${from}: must be one name of 1 to 200 printable characters`;
    return { refusal: badRequest(problem, from) };
  }
  return { names: given };
}

/** A header template whose variable is unset sends an empty value, which is no name. */
function headerName(
  { headers, headersDistinct }: Pick<Request, 'headers' | 'headersDistinct'>,
  from: string,
): GivenName | undefined {
  const value = headers[from];
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  // Node.js joins the values of a header that is repeated. The text is refused then.
  const isRepeated = (headersDistinct[from]?.length ?? 0) > 1;
  return { text: isRepeated ? '' : headerText(value).trim(), from };
}
