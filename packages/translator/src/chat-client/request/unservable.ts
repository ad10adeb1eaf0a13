/** Finds members of a chat request that must not be ignored. */

import type { Place } from '../../reading/place.js';

/**
 * Refuses a request for audio alone, and a moderation policy that is to block. A client that relies
 * on either must not get an answer without it.
 */
export function refuseUnservable(chat: Place): void {
  const modalities = chat.given('modalities');
  const wanted: readonly unknown[] = Array.isArray(modalities?.value) ? modalities.value : [];
  if (wanted.includes('audio') && !wanted.includes('text')) {
    modalities?.refuse('must include "text"', 'unsupported_value');
  }
  const policy = chat.given('moderation')?.at('policy');
  for (const side of ['input', 'output']) {
    const mode = policy?.at(side).at('mode');
    if (mode?.value === 'block') mode.refuse('nothing is moderated here', 'unsupported_value');
  }
}
