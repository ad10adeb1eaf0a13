/** Errors in the messages between processes. The copy of an error has no class. */

import * as ledger from '@gateway/balance-store';

export interface Message {
  /** Why a call failed. */
  readonly e?: unknown;
}

type ErrorClass = Pick<ErrorConstructor, 'prototype'>;

/** The classes that callers tell apart, by name: all that the ledger exports. */
const CLASSES: ReadonlyMap<string, ErrorClass> = new Map([
  ['RangeError', RangeError],
  ...Object.entries<unknown>(ledger).filter(isErrorClass),
]);

function isErrorClass(exported: [string, unknown]): exported is [string, ErrorClass] {
  const [, value] = exported;
  return typeof value === 'function' && value.prototype instanceof Error;
}

/** Replaces an error by a plain object. An error of another class keeps its name and message. */
export function withPlainError(message: Message): Message {
  const { e: error } = message;
  if (!(error instanceof Error)) return message;
  const members = CLASSES.has(error.name) ? error : undefined;
  return { ...message, e: { ...members, name: error.name, message: error.message } };
}

export function withError(message: Message): Message {
  if (message.e === undefined) return message;
  const { message: text, ...members } = message.e as Pick<Error, 'name' | 'message'>;
  const error = Object.assign(new Error(text), members);
  const { prototype } = CLASSES.get(members.name) ?? Error;
  // Not by its constructor, whose arguments are other ones in each class.
  return { ...message, e: Object.setPrototypeOf(error, prototype) as Error };
}
