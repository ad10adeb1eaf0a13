/** PostgreSQL's text of an array: half the work of letting `pg` write it, in each charge. */

const SPECIAL = /["\\]/;
const EACH_SPECIAL = /["\\]/g;

/** @param values - An absent one becomes NULL. */
export function arrayText(
  values: readonly (string | number | boolean | null | undefined)[],
): string {
  let text = '{';
  for (const value of values) {
    if (text.length > 1) text += ',';
    if (value === null || value === undefined) text += 'NULL';
    else if (typeof value !== 'string') text += String(value);
    else if (SPECIAL.test(value)) text += `"${value.replace(EACH_SPECIAL, '\\$&')}"`;
    else text += `"${value}"`;
  }
  return `${text}}`;
}
