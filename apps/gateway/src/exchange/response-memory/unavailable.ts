/** The refusal of a request that needs kept responses, while they cannot be read. */

import { newRefusal } from '../../base/errors/refusal.js';
import type { Refusal } from '../../base/errors/refusal.js';

/** @param fault - For the operator's log. */
export function memoryUnavailable(fault: string): Refusal {
  return newRefusal('kept_responses_unavailable', { fault });
}
