/** Metrics of the work that operators start: calls of the admin API, and audits as jobs. */

import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';

export interface OperationMetrics<Name extends string> {
  /** Call it when an operation failed through no fault of the call. */
  readonly failed: (operation: Name) => void;
}

/** @param operations - All names; each starts at 0. */
export function addOperationMetrics<Name extends string>(
  registry: Registry,
  operations: readonly Name[],
): OperationMetrics<Name> {
  const failures = new Counter({
    name: 'gateway_operations_failed_total',
    help: 'Calls of operators, and audits, that failed through no fault of the call',
    labelNames: ['operation'],
    registers: [registry],
  });
  for (const operation of operations) failures.inc({ operation }, 0);
  return {
    failed(operation) {
      failures.inc({ operation });
    },
  };
}
