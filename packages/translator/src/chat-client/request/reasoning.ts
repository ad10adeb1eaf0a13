/**
 * Translates `reasoning_effort` to the effort and thinking controls that the model has.
 * https://platform.claude.com/docs/en/build-with-claude/effort
 */

import { nearest } from '../../reading/nearest-level.js';
import { type Place, quote } from '../../reading/place.js';
import type { EffortLevel, ModelTraits } from './traits.js';

export interface Reasoning {
  output_config?: { effort: EffortLevel };
  thinking?: { type: 'disabled' };
}

const LEVELS: readonly EffortLevel[] = ['low', 'medium', 'high', 'xhigh', 'max'];

/**
 * Never turns manual thinking on, because manual thinking forbids a forced tool choice, and because
 * a chat history has no thinking blocks unless the client carries them.
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
