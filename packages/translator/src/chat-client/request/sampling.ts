/**
 * `temperature` and `top_p`. Models after Opus 4.6 refuse both; older ones take a temperature of at
 * most 1, and some of them refuse both in one request. Source: Anthropic SDK 0.137.0
 * `MessageCreateParams`.
 */

import type { Place } from '../../reading/place.js';
import type { ModelTraits } from './traits.js';

export interface Sampling {
  temperature?: number;
  top_p?: number;
}

/**
 * The chat format allows temperatures up to 2; here anything outside 0 to 1 is capped, never an
 * error.
 */
export function translateSampling(chat: Place, { sampling }: ModelTraits): Sampling {
  const temperature = chat.given('temperature');
  const topP = chat.given('top_p');
  const wanted = readNumber(temperature);
  const mass = readNumber(topP);
  if (sampling === 'refused') {
    noteUnsent(temperature, 'the model takes none');
    noteUnsent(topP, 'the model takes none');
    return {};
  }
  if (wanted !== undefined) {
    noteUnsent(topP, 'temperature is used');
    const capped = Math.min(Math.max(wanted, 0), 1);
    if (capped !== wanted) temperature?.note('capped', `sent as ${capped}`);
    return { temperature: capped };
  }
  if (mass && mass > 0 && mass < 1) return { top_p: mass };
  noteUnsent(topP, 'not between 0 and 1');
  return {};
}

function readNumber(field: Place | undefined): number | undefined {
  if (!field) return undefined;
  const { value } = field;
  return typeof value === 'number' && !Number.isNaN(value) ? value : field.mustBe('a number');
}

/** 1 is the default of both: leaving it out loses nothing. */
function noteUnsent(field: Place | undefined, why: string): void {
  if (field?.value !== 1) field?.note('dropped', why);
}
