/**
 * An address of mail, as RFC 5321 and the `email` input of HTML have it: a text without spaces,
 * quotes and control characters, which therefore cannot add a header or a recipient to a mail.
 */

const ATOM = "[\\w!#$%&'*+/=?^`{|}~-]+";
const LABEL = '[A-Za-z\\d](?:[A-Za-z\\d-]{0,61}[A-Za-z\\d])?';

export const MAIL_ADDRESS = new RegExp(
  `^${ATOM}(?:\\.${ATOM})*@(?:${LABEL}\\.)+[A-Za-z][A-Za-z\\d-]{0,61}[A-Za-z\\d]$`,
);
/** Of the whole address, and of the part before the @. */
export const MAX_MAIL_ADDRESS = 254;
const MAX_LOCAL_PART = 64;

export const MAIL_ADDRESS_RULE =
  'must be an address such as person@example.com, of at most 254 ASCII characters';

export function isMailAddress(text: string): boolean {
  return (
    text.length <= MAX_MAIL_ADDRESS &&
    text.indexOf('@') <= MAX_LOCAL_PART &&
    MAIL_ADDRESS.test(text)
  );
}
