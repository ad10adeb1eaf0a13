/** Refuses members of a Responses request that rely on something stored. */

import type { Place } from '../../reading/place.js';

const REFUSED = {
  previous_response_id: 'nothing is stored here: send the whole conversation as input',
  conversation: 'nothing is stored here: send the whole conversation as input',
  prompt: 'prompt templates are not stored here: send instructions and input',
};

/** A client that sends one of these must not get an answer that ignores it. */
export function refuseStoredState(request: Place): void {
  for (const [name, complaint] of Object.entries(REFUSED)) {
    request.given(name)?.refuse(complaint, 'unsupported_value');
  }
  const background = request.given('background');
  if (background?.boolean()) {
    background.refuse(
      'responses are not stored, so none can be fetched later',
      'unsupported_value',
    );
  }
}
