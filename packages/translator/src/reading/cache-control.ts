/** Reads `cache_control`, which has the same form in native, chat and Responses requests. */

import type { CacheControl } from './cache-point.js';
import type { Place } from './place.js';

export function fromCacheControl(place: Place): CacheControl {
  const type = place.object().at('type');
  const ttl = place.given('ttl');
  if (type.value !== 'ephemeral') return type.mustBe('"ephemeral"', 'invalid_value');
  const lifetime = ttl?.value;
  if (lifetime !== undefined && lifetime !== '5m' && lifetime !== '1h') {
    return place.at('ttl').mustBe('"5m" or "1h"', 'invalid_value');
  }
  place.noteUnread();
  return acceptCachePoint(place, { type: type.value, ttl: lifetime });
}

/**
 * Records where a cache point is in the request. If there are more than four, the error can then
 * name the path of the fifth.
 */
export function acceptCachePoint(place: Place, control: CacheControl): CacheControl {
  place.t.cachePlaces.set(control, place);
  return control;
}
