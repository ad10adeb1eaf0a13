/**
 * `temperature` and `top_p`. Models after Opus 4.6 refuse both; older ones take a temperature of at
 * most 1, and some of them refuse both in one request. Source: Anthropic SDK 0.137.0
 * `MessageCreateParams`.
 */

import type { JsonObject } from './raw-json.js';
import type { ModelTraits } from './traits.js';
import { refuseType, type Translation } from './translation.js';

export interface Sampling {
  temperature?: number;
  top_p?: number;
}

/**
 * The chat format allows temperatures up to 2; here anything outside 0 to 1 is capped, never an
 * error.
 */
export function translateSampling(t: Translation, chat: JsonObject, traits: ModelTraits): Sampling {
  const temperature = readNumber(chat, 'temperature');
  const topP = readNumber(chat, 'top_p');
  // 1 is the default of both: leaving it out loses nothing.
  if (traits.sampling === 'refused') {
    const detail = 'the model takes no sampling parameters';
    if (temperature !== undefined && temperature !== 1)
      t.notes.take('temperature', 'dropped', detail);
    if (topP !== undefined && topP !== 1) t.notes.take('top_p', 'dropped', detail);
    return {};
  }
  if (temperature !== undefined) {
    if (topP !== undefined && topP !== 1) {
      t.notes.take('top_p', 'dropped', 'upstream takes either temperature or top_p');
    }
    return { temperature: cap(t, temperature) };
  }
  if (topP === undefined || topP === 1) return {};
  if (topP > 0 && topP < 1) return { top_p: topP };
  t.notes.take('top_p', 'dropped', 'not between 0 and 1');
  return {};
}

function readNumber(chat: JsonObject, field: 'temperature' | 'top_p'): number | undefined {
  const value = chat[field];
  if (value == null) return undefined;
  if (typeof value === 'number' && !Number.isNaN(value)) return value;
  return refuseType(field, 'a number', value);
}

function cap(t: Translation, temperature: number): number {
  const capped = Math.min(Math.max(temperature, 0), 1);
  if (capped !== temperature) t.notes.take('temperature', 'capped', `sent as ${String(capped)}`);
  return capped;
}
