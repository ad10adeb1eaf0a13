import { setImmediate } from 'node:timers/promises';
import type { Connection } from '../connection.js';

/** @returns a function that reads rows, and lets this thread serve other calls first */
export function pageReader(connection: Connection) {
  return async <Row>(
    sql: string,
    ...values: readonly (string | number | bigint)[]
  ): Promise<readonly Row[]> => {
    await setImmediate();
    return connection.all<Row>(sql, ...values);
  };
}
