/**
 * Everything an operator can do, once: the admin HTTP API serves this table, and the command line
 * calls it, directly or over that API.
 */

import { z } from 'zod';
import { accountOperations } from './accounts.js';
import { auditOperations } from './audits.js';
import { keyOperations } from './keys.js';
import { ledgerOperations } from './ledger.js';
import { paymentOperations } from './payments.js';
import { OperationError, list, operation } from './operation.js';
import type { Operation, OperationContext } from './operation.js';
import { reconciliationOperations } from './reconciliation.js';
import { todayOperations } from './today.js';

export const operations = {
  ...keyOperations,
  ...accountOperations,
  ...ledgerOperations,
  ...auditOperations,
  ...todayOperations,
  ...paymentOperations,
  ...reconciliationOperations,

  listModels: operation({
    method: 'GET',
    path: '/admin/models',
    right: 'read',
    input: z.strictObject({}),
    run: (_input, { prices }) =>
      Promise.resolve(
        list(
          prices.list().map((price) => ({
            object: 'model' as const,
            id: price.id,
            display_name: price.displayName,
            rate_in: price.rateIn,
            rate_out: price.rateOut,
            max_output_tokens: price.maxOutputTokens,
            context_window: price.contextWindow,
          })),
          undefined,
        ),
      ),
  }),
} as const;

export type OperationName = keyof typeof operations;
export type OperationInput<Name extends OperationName> = z.input<
  (typeof operations)[Name]['input']
>;
export type OperationOutput<Name extends OperationName> = Awaited<
  ReturnType<(typeof operations)[Name]['run']>
>;

/** Calls an operation by name, wherever it runs. */
export type CallOperation = <Name extends OperationName>(
  name: Name,
  input: OperationInput<Name>,
) => Promise<OperationOutput<Name>>;

/**
 * Checks the input and runs the operation.
 *
 * @throws {OperationError} The input names a field that cannot be used, or the operation is
 * refused.
 */
export async function runOperation(
  name: OperationName,
  input: unknown,
  context: OperationContext,
): Promise<unknown> {
  // The input and the `run` of one entry belong together, which the union type of the table cannot
  // express.
  const chosen = operations[name] as Operation<z.ZodType, unknown>;
  const parsed = chosen.input.safeParse(input);
  if (parsed.success) {
    const running = chosen.run(parsed.data, context);
    return hasCursor(parsed.data) ? running.catch(refuseBadCursor) : running;
  }
  const [issue] = parsed.error.issues;
  const field =
    issue?.code === 'unrecognized_keys' ? issue.keys.join(', ') : (issue?.path.join('.') ?? '');
  throw new OperationError(
    400,
    'invalid_request_error',
    `${field === '' ? 'input' : field}: ${issue?.message ?? 'is invalid'}`,
  );
}

function hasCursor(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'cursor' in input;
}

/** Only the store can check a cursor, because it made it. */
function refuseBadCursor(error: unknown): never {
  if (error instanceof RangeError) {
    throw new OperationError(400, 'invalid_request_error', `cursor: ${error.message}`);
  }
  throw error;
}
