/** Refusals of query parameters, and of members of a small JSON body. */

import type { z } from 'zod';
import type { Refusal } from '../base/errors/refusal.js';
import { badRequest } from './refusal.js';

export function invalidQuery(param: string, message: string): Refusal {
  return badRequest(`${param}: ${message}`, param);
}

/** @param error - The error of a schema for the whole query or body. Reports its first issue. */
export function refusalOfQuery({ issues: [issue] }: z.ZodError): Refusal {
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  return unknown === undefined
    ? invalidQuery(issue?.path.join('.') ?? '', issue?.message ?? 'is invalid')
    : invalidQuery(unknown, 'is not a parameter of this endpoint');
}
