/**
 * `reasoning_effort`, to the effort and thinking controls that the model has.
 * https://platform.claude.com/docs/en/build-with-claude/effort
 */

import type { EffortLevel, ModelTraits } from './traits.js';
import { quote, readString, type Translation } from './translation.js';

export interface Reasoning {
  output_config?: { effort: EffortLevel };
  thinking?: { type: 'disabled' };
}

const LEVELS: readonly EffortLevel[] = ['low', 'medium', 'high', 'xhigh', 'max'];

/**
 * Never turns manual thinking on: a chat history has no thinking blocks unless the client carries
 * them, and manual thinking forbids a forced tool choice.
 */
export function translateReasoning(t: Translation, value: unknown, traits: ModelTraits): Reasoning {
  if (value == null) return {};
  const written = readString(value, 'reasoning_effort');
  if (written === 'none' && traits.thinkingOff === 'omit') return {};
  if (written === 'none' && traits.thinkingOff === 'disabled')
    return { thinking: { type: 'disabled' } };
  const wanted = written === 'none' || written === 'minimal' ? 'low' : asLevel(written);
  if (wanted === undefined) {
    t.notes.take('reasoning_effort', 'ignored', `unknown value ${quote(written)}`);
    return {};
  }
  const effort = nearest(LEVELS, wanted, traits.effort);
  if (effort === undefined) {
    t.notes.take('reasoning_effort', 'dropped', 'the model has no effort control');
    return {};
  }
  if (effort !== written) t.notes.take('reasoning_effort', 'rewritten', `sent as ${effort}`);
  return { output_config: { effort } };
}

function asLevel(value: string): EffortLevel | undefined {
  return LEVELS.find((level) => level === value);
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
