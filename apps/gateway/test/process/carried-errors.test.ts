/** Errors that are thrown in one process and caught in another. */

import { deserialize, serialize } from 'node:v8';
import { expect, it } from '@jest/globals';
import * as ledger from '@gateway/balance-store';
import { withError, withPlainError } from '../../src/process/workers/carried-errors.js';

type ErrorClass = new (argument: string) => Error;

const CLASSES = Object.entries<unknown>(ledger).filter(
  (exported): exported is [string, ErrorClass] =>
    typeof exported[1] === 'function' && exported[1].prototype instanceof Error,
);

/** As it arrives in the other process. */
function carried(error: Error): unknown {
  return withError(deserialize(serialize(withPlainError({ e: error })))).e;
}

// F346
it('every class of errors that the ledger exports is told apart in the other process, too', () => {
  expect(CLASSES.map(([name]) => name)).toContain('StoreUnavailableError');
  for (const [name, ErrorClass] of [...CLASSES, ['RangeError', RangeError] as const]) {
    const thrown = new ErrorClass('models');
    // By this name, its class is found.
    expect(thrown.name).toBe(name);
    const caught = carried(thrown);
    expect(caught).toBeInstanceOf(ErrorClass);
    expect(caught).toMatchObject({ ...thrown, message: thrown.message });
  }
  const field = carried(new ledger.SetByOperatorError('models'));
  expect(field).toMatchObject({ field: 'models', message: 'models was set by an operator' });
});

it('any other error keeps its name and its message', () => {
  const caught = carried(Object.assign(new TypeError('no such thing'), { code: () => 1 }));
  expect(caught).toBeInstanceOf(Error);
  expect(caught).toMatchObject({ name: 'TypeError', message: 'no such thing' });
});

it('a message without an error stays as it is', () => {
  const message: object = { r: 1 };
  expect(withError(withPlainError(message))).toBe(message);
});
