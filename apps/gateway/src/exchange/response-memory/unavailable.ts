/** The refusal of a request that needs kept responses, while they cannot be read. */

import type { Refusal } from '../../http/refusal.js';

/** @param fault - For the operator's log. */
export function memoryUnavailable(fault: string): Refusal {
  return {
    status: 503,
    type: 'api_error',
    message: 'kept responses cannot be read at the moment; nothing was charged',
    retryAfterSeconds: 1,
    fault,
  };
}
