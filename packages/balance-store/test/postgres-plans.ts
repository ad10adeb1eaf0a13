import { querySql } from './postgres-server.js';

interface PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Runs a statement. @returns how many rows PostgreSQL read for it, in all steps of its plan */
export async function rowsRead(
  connectionString: string,
  sql: string,
  values: readonly string[],
): Promise<number> {
  const [row] = await querySql(connectionString, `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, values);
  const plans = row!['QUERY PLAN'] as readonly { readonly Plan: PlanNode }[];
  return plans.reduce((sum, { Plan }) => sum + rowsOf(Plan), 0);
}

function rowsOf(node: PlanNode): number {
  const own =
    node['Actual Rows'] +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0);
  const inner = (node.Plans ?? []).reduce((sum, child) => sum + rowsOf(child), 0);
  return own * node['Actual Loops'] + inner;
}
