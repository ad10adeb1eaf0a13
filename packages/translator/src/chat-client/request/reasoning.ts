/**
 * `reasoning_effort`, to the effort and thinking controls that the model has.
 * https://platform.claude.com/docs/en/build-with-claude/effort
 */

import { quote, type Place } from '../../reading/place.js';
import type { EffortLevel, ModelTraits } from './traits.js';

export interface Reasoning {
  output_config?: { effort: EffortLevel };
  thinking?: { type: 'disabled' };
}

const LEVELS: readonly EffortLevel[] = ['low', 'medium', 'high', 'xhigh', 'max'];

/**
 * Never turns manual thinking on: a chat history has no thinking blocks unless the client carries
 * them, and manual thinking forbids a forced tool choice.
 */
export function translateReasoning(
  field: Place | undefined,
  { effort: levels, thinkingOff }: ModelTraits,
): Reasoning {
  if (!field) return {};
  const written = field.string();
  if (written === 'none' && thinkingOff !== 'never') {
    return thinkingOff === 'omit' ? {} : { thinking: { type: thinkingOff } };
  }
  const isLeast = written === 'none' || written === 'minimal';
  const wanted = isLeast ? 'low' : LEVELS.find((level) => level === written);
  const effort = wanted && nearest(LEVELS, wanted, levels);
  if (effort) {
    if (effort !== written) field.note('rewritten', `sent as ${effort}`);
    return { output_config: { effort } };
  }
  if (wanted) field.note('dropped', 'the model takes none');
  else field.note('ignored', `unknown value ${quote(written)}`);
  return {};
}

/**
 * The highest level that the model has and that is not above the wanted one, or else its lowest.
 * `order` lists all levels, the lowest first.
 */
export function nearest<Level extends string>(
  order: readonly Level[],
  wanted: Level,
  supported: readonly Level[],
): Level | undefined {
  const available = order.filter((level) => supported.includes(level));
  const upTo = order.indexOf(wanted);
  return available.findLast((level) => order.indexOf(level) <= upTo) ?? available[0];
}
