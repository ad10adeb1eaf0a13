/**
 * Translates `thinking` and `output_config.effort` to `reasoning_effort`, the only such control of
 * the chat format.
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */

import { nearest } from '../../reading/nearest-level.js';
import { type Place, quote } from '../../reading/place.js';
import type { ChatEffort } from './chat-request.js';
import type { ChatTraits } from './traits.js';

const LEVELS: readonly ChatEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

const MIN_BUDGET_TOKENS = 1024;
/** The largest budget of thinking tokens for each level. Larger budgets are `high`. */
const BUDGET_LEVELS: readonly (readonly [maxTokens: number, level: ChatEffort])[] = [
  [4_096, 'low'],
  [16_384, 'medium'],
];

/**
 * Disabled thinking becomes `none`. Otherwise the effort decides if it is given, or else the
 * budget: up to 4,096 tokens are `low`, up to 16,384 `medium`, and more are `high`. The result is
 * the nearest level that the model has, preferably one not above the wanted level. Adaptive
 * thinking without an effort leaves the choice to the model.
 */
export function translateThinking(
  native: Place,
  traits: ChatTraits,
): { reasoning_effort?: ChatEffort } {
  native.given('output_config')?.object();
  const effortField = native.at('output_config').at('effort');
  const thinkingField = native.at('thinking');
  const effort = readEffort(effortField);
  const thinking = readThinkingConfig(thinkingField, native.at('max_tokens'));
  const wanted = thinking.isOff ? 'none' : (effort ?? thinking.level);
  if (wanted === undefined) return {};
  const field = wanted === effort ? effortField : thinkingField;
  if (effort !== undefined && thinking.isOff) {
    effortField.note('ignored', 'thinking is disabled');
  }
  if (effort !== undefined && thinking.level !== undefined) {
    thinkingField.at('budget_tokens').note('ignored', 'output_config.effort is used');
  }
  // `none` turns thinking off, so it never counts as the nearest level.
  const levels = traits.effort.filter((level) => wanted === 'none' || level !== 'none');
  const sent = nearest(LEVELS, wanted, levels);
  if (sent === undefined) {
    field.note('dropped', 'the model has no effort control');
    return {};
  }
  if (sent !== effort && !(thinking.isOff && sent === 'none')) {
    field.note('rewritten', `sent as reasoning_effort ${sent}`);
  }
  return { reasoning_effort: sent };
}

function readEffort(field: Place): ChatEffort | undefined {
  if (field.value == null) return undefined;
  const written = field.string();
  const level = LEVELS.find((candidate) => candidate === written);
  if (level === undefined) field.note('ignored', `unknown value ${quote(written)}`);
  return level;
}

function readThinkingConfig(
  field: Place,
  maxTokens: Place,
): { readonly isOff: boolean; readonly level?: ChatEffort } {
  if (field.value == null) return { isOff: false };
  const type = field.object().at('type');
  const display = field.at('display');
  if (display.value != null) display.note('ignored', 'the upstream decides how to show thinking');
  switch (type.value) {
    case 'disabled':
      return { isOff: true };
    case 'adaptive':
      return { isOff: false };
    case 'between_tools':
      type.note('ignored', 'the model decides when to think');
      return { isOff: false };
    case 'enabled':
      return { isOff: false, level: levelOfBudget(field.at('budget_tokens'), maxTokens.value) };
    default:
      return type.mustBe('"enabled", "disabled", "adaptive" or "between_tools"', 'invalid_value');
  }
}

function levelOfBudget(field: Place, maxTokens: unknown): ChatEffort {
  const { value: budget } = field;
  if (typeof budget !== 'number' || !Number.isInteger(budget) || budget < MIN_BUDGET_TOKENS) {
    return field.mustBe(`an integer of at least ${MIN_BUDGET_TOKENS}`, 'invalid_value');
  }
  if (typeof maxTokens === 'number' && budget >= maxTokens) {
    field.refuse('must be less than max_tokens');
  }
  return BUDGET_LEVELS.find(([limit]) => budget <= limit)?.[1] ?? 'high';
}
