import type { SQLInputValue } from 'node:sqlite';
import type { Connection } from '../src/embedded/sqlite/connection.js';

/** @returns how SQLite finds the rows of the statements that `work` runs, a step per table */
export async function plansOf(
  connection: Connection,
  work: (recording: Connection) => unknown,
): Promise<readonly string[]> {
  const plans: string[] = [];
  const plan = (sql: string, values: readonly SQLInputValue[]) => {
    const steps = connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values);
    plans.push(...steps.map(({ detail }) => detail));
  };
  await work({
    ...connection,
    get(sql, ...values) {
      plan(sql, values);
      return connection.get(sql, ...values);
    },
    all(sql, ...values) {
      plan(sql, values);
      return connection.all(sql, ...values);
    },
    run(sql, ...values) {
      plan(sql, values);
      return connection.run(sql, ...values);
    },
  });
  return plans.filter((step) => /^(SCAN|SEARCH) \w+/.test(step));
}
