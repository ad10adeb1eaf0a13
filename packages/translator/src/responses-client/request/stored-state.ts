/** Reads the members of a Responses request that rely on something stored. */

import type { Place } from '../../reading/place.js';

/**
 * Responses that the caller keeps, as far as a request refers to them. The items are values as
 * `JSON.parse` returns them.
 */
export interface StoredResponses {
  /**
   * All items of the conversation that ended with the response `previous_response_id`: what it was
   * asked, and its output. Undefined if the caller does not have this response.
   */
  readonly previous?: readonly unknown[] | undefined;
  /** The items that the caller has of those that the input refers to, by their ids. */
  readonly items: ReadonlyMap<string, unknown>;
}

const REFUSED = {
  conversation: 'conversations are not stored here: send the whole conversation as input',
  prompt: 'prompt templates are not stored here: send instructions and input',
};

/**
 * A client that sends one of these must not get an answer that ignores it.
 *
 * @returns the response that the request continues, if any
 */
export function readStoredState(
  request: Place,
  stored: StoredResponses | undefined,
): Place | undefined {
  const previous = request.given('previous_response_id');
  if (previous && !stored) {
    previous.refuse(
      'nothing is stored here: send the whole conversation as input (SDKs do so with store: false)',
      'unsupported_value',
    );
  }
  previous?.string();
  if (previous && !stored?.previous) {
    previous.refuse(
      'there is no such response of this key, or it is no longer kept: send the whole conversation as input',
      'previous_response_not_found',
    );
  }
  for (const [name, complaint] of Object.entries(REFUSED)) {
    request.given(name)?.refuse(complaint, 'unsupported_value');
  }
  const background = request.given('background');
  if (background?.boolean()) {
    background.refuse('responses are made while the client waits', 'unsupported_value');
  }
  return previous;
}
