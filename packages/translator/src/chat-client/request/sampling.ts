/**
 * Translates `temperature` and `top_p`. Models after Opus 4.6 refuse most values of either. Older
 * models accept a temperature of at most 1, and some refuse a request that has both members.
 * Source: `MessageCreateParams` of Anthropic SDK 0.137.0.
 */

import type { Place } from '../../reading/place.js';
import type { ThinkingConfig } from './native-request.js';
import type { ModelTraits } from './traits.js';

export interface Sampling {
  temperature?: number;
  top_p?: number;
}

/**
 * Limits a temperature outside 0 to 1 instead of refusing it, because the chat format allows up to
 * 2.
 */
export function translateSampling(
  chat: Place,
  { sampling }: ModelTraits,
  thinking: ThinkingConfig | undefined,
): Sampling {
  const temperature = chat.given('temperature');
  const topP = chat.given('top_p');
  const wanted = readNumber(temperature);
  const mass = readNumber(topP);
  // While the model thinks, the upstream refuses most values of either member.
  const isThinking = thinking && thinking.type !== 'disabled';
  if (sampling === 'refused' || isThinking) {
    const why = sampling === 'refused' ? 'the model takes none' : 'not sent with thinking';
    noteUnsent(temperature, why);
    noteUnsent(topP, why);
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

/** 1 is the default of both, so leaving it out needs no note. */
function noteUnsent(field: Place | undefined, why: string): void {
  if (field?.value !== 1) field?.note('dropped', why);
}
