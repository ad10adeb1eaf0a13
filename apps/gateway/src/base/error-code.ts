import { isNativeError } from 'node:util/types';

/** Returns the `code` of an error, such as `ENOENT` of a system error, if it has one. */
export function errorCode(error: unknown): string | undefined {
  return typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'string'
    ? error.code
    : undefined;
}

/** What an error says. Whatever else was thrown is written as text. */
export function reasonOf(error: unknown): string {
  // Also of an error that another context of JavaScript made, which is no instance of our `Error`.
  return isNativeError(error) ? error.message : String(error);
}
