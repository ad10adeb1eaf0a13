/**
 * Errors of Azure, by status and code.
 *
 * https://learn.microsoft.com/azure/ai-foundry/openai/how-to/quota
 */

import { apiError } from './api-error.js';
import type { ApiError, CloudMeaning } from './api-error.js';

const CODES: ReadonlyMap<string, CloudMeaning> = new Map([
  ['PermissionDenied', 'permission'],
  ['DeploymentNotFound', 'model'],
  ['RateLimitReached', 'limit'],
]);

const STATUSES: ReadonlyMap<number, CloudMeaning> = new Map([
  [400, 'request'],
  [401, 'credential'],
  [402, 'billing'],
  [403, 'permission'],
  [404, 'permission'],
  [408, 'timeout'],
  [413, 'too_large'],
  [429, 'limit'],
  [503, 'overload'],
  [504, 'timeout'],
]);

export function azureError(status: number, code: string, message: string): ApiError {
  const meaning = CODES.get(code) ?? STATUSES.get(status) ?? 'failure';
  return apiError(meaning, { name: code, message });
}
