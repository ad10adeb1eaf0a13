/** Members of requests in both OpenAI formats that must not be ignored. */

import type { Place } from '../../reading/place.js';

/**
 * Refuses a request for audio only, and a moderation policy that asks for blocking. A client that
 * relies on either must not get an answer without it.
 */
export function refuseUnservable(request: Place): void {
  const modalities = request.at('modalities');
  const { value } = modalities;
  if (Array.isArray(value) && value.includes('audio') && !value.includes('text')) {
    modalities.refuse('must include "text"', 'unsupported_value');
  }
  for (const side of ['input', 'output']) {
    const mode = request.at('moderation').at('policy').at(side).at('mode');
    if (mode.value === 'block') mode.refuse('nothing is moderated here', 'unsupported_value');
  }
}
