/**
 * All operations of operators, in one table. The admin HTTP API serves them. The command line calls
 * them, directly or over that API.
 */

import type { z } from 'zod';
import type { ResultOf } from '../../endpoints/endpoint.js';
import { invalidInput } from '../../endpoints/operation-error.js';
import { budgetOperations } from '../../endpoints/spenders/budgets.js';
import { memberOperations } from '../../endpoints/spenders/members.js';
import type { TextFormat } from '../../endpoints/text-format.js';
import { accountOperations } from './accounts.js';
import { auditOperations } from './audits.js';
import { booksOperations } from './books.js';
import { exportOperations } from './exports.js';
import { homeOperations } from './home.js';
import { keyLinkOperations } from './key-links.js';
import { keyOperations } from './keys.js';
import { ledgerOperations } from './ledger.js';
import { modelOperations } from './models.js';
import type { Operation, OperationContext } from './operation.js';
import { paymentOperations } from './payments.js';
import { reconciliationOperations } from './reconciliation.js';
import { requestOperations } from './requests.js';
import { settingsOperations } from './settings.js';
import { todayOperations } from './today.js';

export const operations = {
  ...keyOperations,
  ...keyLinkOperations,
  ...accountOperations,
  ...memberOperations,
  ...budgetOperations,
  ...ledgerOperations,
  ...requestOperations,
  ...auditOperations,
  ...homeOperations,
  ...todayOperations,
  ...booksOperations,
  ...exportOperations,
  ...paymentOperations,
  ...modelOperations,
  ...reconciliationOperations,
  ...settingsOperations,
} as const;

export type OperationName = keyof typeof operations;
export const OPERATION_NAMES = Object.keys(operations) as readonly OperationName[];
export type OperationInput<Name extends OperationName> = z.input<
  (typeof operations)[Name]['input']
>;
export type OperationOutput<Name extends OperationName> = ResultOf<
  (typeof operations)[Name]['output']
>;

/** Whether the input may have an `idempotency_key`, with which a repetition changes nothing. */
export function isRepeatable(name: OperationName): boolean {
  return 'idempotency_key' in operations[name].input.shape;
}

/** The form in which the input asks for the result, or `undefined` for JSON. */
export function textFormatOf(
  name: OperationName,
  { format }: { readonly format?: unknown },
): TextFormat<unknown> | undefined {
  const { formats = {} } = operations[name] as Operation<z.ZodType, z.ZodType>;
  return typeof format === 'string' ? formats[format] : undefined;
}

/** Calls an operation by name, wherever it runs. */
export type CallOperation = <Name extends OperationName>(
  name: Name,
  input: OperationInput<Name>,
) => Promise<OperationOutput<Name>>;

/**
 * Checks the input and runs the operation.
 *
 * @throws {OperationError} A field of the input is invalid, or the operation is refused.
 */
export async function runOperation(
  name: OperationName,
  input: unknown,
  context: OperationContext,
): Promise<unknown> {
  // The input and the `run` of one entry belong together, which the union type of the table cannot
  // express.
  const chosen = operations[name] as Operation<z.ZodType, z.ZodType>;
  const parsed = chosen.input.safeParse(input);
  if (!parsed.success) throw invalidInput(problemOf(parsed.error));
  const running = chosen.run(parsed.data, context);
  const cursor = cursorFieldOf(parsed.data);
  return cursor === undefined ? running : running.catch(refusingCursor(cursor));
}

/** What is wrong with an input by itself, beginning with the field; `undefined` if nothing is. */
export function problemOfInput(name: OperationName, input: unknown): string | undefined {
  const parsed = (operations[name].input as z.ZodType).safeParse(input);
  return parsed.success ? undefined : problemOf(parsed.error);
}

function problemOf({ issues: [issue] }: z.ZodError): string {
  const field =
    issue?.code === 'unrecognized_keys' ? issue.keys.join(', ') : (issue?.path.join('.') ?? '');
  return `${field === '' ? 'input' : field}: ${issue?.message ?? 'is invalid'}`;
}

function cursorFieldOf(input: unknown): string | undefined {
  if (typeof input !== 'object' || input === null) return undefined;
  return ['cursor', 'after'].find((field) => field in input);
}

/** The cursor is checked by the store, because only the store knows its form. */
function refusingCursor(field: string): (error: unknown) => never {
  return function refuse(error) {
    if (!(error instanceof RangeError)) throw error;
    throw invalidInput(`${field}: ${error.message}`);
  };
}
