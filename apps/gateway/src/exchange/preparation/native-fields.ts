/**
 * Checks the members of a native request by the rules of the specification. A container is never
 * parsed, so a large one takes no time after the scan that found it.
 */

import { MAX_TOKENS } from '@gateway/billing';
import type { JsonSpan } from '@gateway/translator/native';

export interface FoundMember {
  readonly body: Uint8Array;
  readonly span: JsonSpan;
}

/** @returns the problem of a member, which may be absent; `undefined` if there is none */
export type FieldCheck = (found: FoundMember | undefined) => string | undefined;
export type FieldChecks = readonly (readonly [name: string, check: FieldCheck])[];

const OPEN_BRACKET = 0x5b;

/**
 * The value of a member; `undefined` for a container. It is read however long it is: escapes and
 * zeros may make any value long.
 */
export function readScalar({ body, span }: FoundMember): unknown {
  const first = body[span.start];
  if (first === OPEN_BRACKET || first === 0x7b) return undefined;
  return JSON.parse(textOf(body, span));
}

export function textOf(body: Uint8Array, { start, end }: JsonSpan): string {
  return Buffer.from(body.buffer, body.byteOffset + start, end - start).toString();
}

/** A `null` counts as absent. */
export function isGiven(found: FoundMember | undefined): found is FoundMember {
  return found !== undefined && found.body[found.span.start] !== 0x6e;
}

/** A `null` is left to the upstream: it decides nothing. */
const optional =
  (isValid: (value: unknown) => boolean, rule: string): FieldCheck =>
  (found) =>
    !isGiven(found) || isValid(readScalar(found)) ? undefined : rule;

const required =
  (isValid: (value: unknown) => boolean, rule: string): FieldCheck =>
  (found) =>
    found === undefined ? 'is required' : isValid(readScalar(found)) ? undefined : rule;

/** Checks a value by its first byte, which shows its type. The scan has validated the rest. */
const startsWith =
  (openings: string, rule: string): FieldCheck =>
  (found) =>
    !isGiven(found) || openings.includes(firstCharacter(found)) ? undefined : rule;

function firstCharacter({ body, span }: FoundMember): string {
  return String.fromCharCode(body[span.start] ?? 0);
}

const isUnit = (value: unknown): boolean => typeof value === 'number' && value >= 0 && value <= 1;
export const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS;
export const COUNT_RULE = `must be an integer from 0 to ${String(MAX_TOKENS)}`;
const isName = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** An array with at least one item. */
const messages: FieldCheck = (found) => {
  if (found === undefined) return 'is required';
  if (found.body[found.span.start] !== OPEN_BRACKET) return 'must be an array of {role, content}';
  return isEmptyList(found) ? 'at least one message is required' : undefined;
};

export function isEmptyList({ body, span }: FoundMember): boolean {
  if (body[span.start] !== OPEN_BRACKET) return false;
  for (let at = span.start + 1; at < span.end - 1; at += 1) {
    if (!isBlank(body[at])) return false;
  }
  return true;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export const COUNT_FIELDS: FieldChecks = [
  ['model', required(isName, 'must be a non-empty string')],
  ['messages', messages],
  ['system', startsWith('"[', 'must be a string or an array of text blocks')],
  ['tools', startsWith('[', 'must be an array')],
];

export const MESSAGE_FIELDS: FieldChecks = [
  ...COUNT_FIELDS,
  ['max_tokens', required(isCount, COUNT_RULE)],
  ['temperature', optional(isUnit, 'must be a number from 0 to 1')],
  ['top_p', optional(isUnit, 'must be a number from 0 to 1')],
  ['top_k', optional(isCount, COUNT_RULE)],
  // The scan checks its items.
  ['stop_sequences', startsWith('[', 'must be an array of strings')],
  ['stream', optional((value) => typeof value === 'boolean', 'must be a boolean')],
];
