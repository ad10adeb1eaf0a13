/**
 * Takes out of a cloud's texts what names the operator's accounts, projects and resources. All
 * other words stay: clients act on some, such as "prompt is too long".
 */

const HIDDEN = '[hidden]';

/** The widest first, so that no part of a name is left. */
const IDENTITIES: readonly RegExp[] = [
  // Resources of AWS, Google and Azure, each with its whole path.
  /\barn:aws[\w-]*:[^\s"'`,;)\]]+/g,
  /(?:https?:)?\/\/[^\s"'`,;)\]]+/g,
  /\/?\bsubscriptions\/[^\s"'`,;)\]]+/gi,
  /\b(?:projects|organizations|folders)\/[^\s"'`,;)\]]+/g,
  /\b[Pp]roject [`'"]?[\w:.-]+[`'"]?(?= |,|\.|$)/g,
  // Who called.
  /\b[\w.+-]+@[\w.-]+\.\w+/g,
  /\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{8,}/g,
  /\bwrkspc_\w+/g,
  // Ids of tenants, subscriptions and applications, and of accounts.
  /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi,
  /\b(?<!\d[.,])\d{12}(?![.,]?\d)\b/g,
  /\b(?:[Tt]enant|[Aa]pp(?:lication)?|[Dd]irectory)(?: with identifier| named)? '[^']*'/g,
];

export function hideIdentities(text: string): string {
  return IDENTITIES.reduce((all, pattern) => all.replace(pattern, HIDDEN), text);
}
