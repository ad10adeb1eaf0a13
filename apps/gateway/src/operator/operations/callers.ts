/** Two ways to call an operation: in this process, or over the admin API of a running gateway. */

import { request } from 'undici';
import { z } from 'zod';
import { errorCode } from '../../base/error-code.js';
import { newRefusal, relayed } from '../../base/errors/refusal.js';
import { OperationError } from '../../endpoints/operation-error.js';
import type { OperationContext } from './operation.js';
import { operations, runOperation } from './operations.js';
import type { CallOperation, OperationName, OperationOutput } from './operations.js';

export function createLocalCaller(context: OperationContext): CallOperation {
  return async <Name extends OperationName>(name: Name, input: unknown) =>
    (await runOperation(name, input, context)) as OperationOutput<Name>;
}

const errorBody = z.object({ error: z.object({ type: z.string(), message: z.string() }) });

export function createRemoteCaller(admin: {
  readonly url: string;
  readonly token: string;
}): CallOperation {
  return async <Name extends OperationName>(name: Name, input: object) => {
    const { method, path } = operations[name];
    const rest: Record<string, unknown> = { ...input };
    const filled = path.replace(/:(\w+)/g, (_all, member: string) => {
      const value = encodeURIComponent(String(rest[member]));
      delete rest[member];
      return value;
    });
    const given = Object.entries(rest).filter(([, value]) => value !== undefined);
    const url = new URL(filled, admin.url);
    if (method === 'get') {
      for (const [member, value] of given) url.searchParams.set(member, String(value));
    }
    const { status, answer } = await answerTo(url, {
      method: method.toUpperCase(),
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
      ...(method === 'get' ? {} : { body: JSON.stringify(Object.fromEntries(given)) }),
    });
    if (status < 300) return answer as OperationOutput<Name>;
    const parsed = errorBody.safeParse(answer);
    const { type, message } = parsed.success
      ? parsed.data.error
      : { type: 'api_error', message: 'the response of the admin API cannot be read' };
    throw new OperationError(relayed({ status, type, message }));
  };
}

/** @throws {OperationError} If no response comes, or one that is not JSON. */
async function answerTo(
  url: URL,
  options: Pick<NonNullable<Parameters<typeof request>[1]>, 'method' | 'headers' | 'body'>,
): Promise<{ readonly status: number; readonly answer: unknown }> {
  let text: string;
  let status: number;
  try {
    const response = await request(url, {
      ...options,
      // An audit reads the whole ledger before it answers.
      headersTimeout: 600_000,
      bodyTimeout: 600_000,
    });
    status = response.statusCode;
    text = await response.body.text();
  } catch (error) {
    throw unreachable(`cannot be reached (${errorCode(error) ?? String(error)})`);
  }
  try {
    return { status, answer: JSON.parse(text) };
  } catch {
    throw unreachable(`the response is not JSON (status ${String(status)})`);
  }
}

function unreachable(problem: string): OperationError {
  return new OperationError(newRefusal('admin_port_unreachable', { problem }));
}
