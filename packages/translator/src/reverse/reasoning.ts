/**
 * `thinking` and `output_config.effort`, to the one control that the chat format has.
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */

import type { JsonObject } from '../raw-json.js';
import { nearest } from '../reasoning.js';
import { quote, readObject, readString, refuse, type Translation } from '../translation.js';
import type { ChatEffort } from './chat-request.js';
import type { ChatTraits } from './traits.js';

const LEVELS: readonly ChatEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

const MIN_BUDGET_TOKENS = 1024;
/** Up to which budget of thinking tokens a level stands for it; larger budgets are `high`. */
const BUDGET_LEVELS: readonly (readonly [maxTokens: number, level: ChatEffort])[] = [
  [4_096, 'low'],
  [16_384, 'medium'],
];

/**
 * Thinking that is disabled is `none`, else a given effort counts, else the budget: up to 4,096 tokens
 * `low`, up to 16,384 `medium`, above `high`. Then the nearest level that the model has, not above the
 * wanted one if there is one. Adaptive thinking without an effort leaves the choice to the model.
 */
export function translateThinking(
  t: Translation,
  native: JsonObject,
  traits: ChatTraits,
): { reasoning_effort?: ChatEffort } {
  const effort = readEffort(t, native['output_config']);
  const thinking = readThinkingConfig(t, native);
  const wanted = thinking.isOff ? 'none' : (effort ?? thinking.level);
  if (wanted === undefined) return {};
  const path = wanted === effort ? 'output_config.effort' : 'thinking';
  if (effort !== undefined && thinking.isOff) {
    t.notes.take('output_config.effort', 'ignored', 'thinking is disabled');
  }
  if (effort !== undefined && thinking.level !== undefined) {
    t.notes.take('thinking.budget_tokens', 'ignored', 'output_config.effort is used');
  }
  // No level is as good as none, so `none` serves no other wish.
  const levels = traits.effort.filter((level) => wanted === 'none' || level !== 'none');
  const sent = nearest(LEVELS, wanted, levels);
  if (sent === undefined) {
    t.notes.take(path, 'dropped', 'the model has no effort control');
    return {};
  }
  if (sent !== effort && !(thinking.isOff && sent === 'none')) {
    t.notes.take(path, 'rewritten', `sent as reasoning_effort ${sent}`);
  }
  return { reasoning_effort: sent };
}

function readEffort(t: Translation, config: unknown): ChatEffort | undefined {
  const effort = config == null ? null : readObject(config, 'output_config')['effort'];
  if (effort == null) return undefined;
  const written = readString(effort, 'output_config.effort');
  const level = LEVELS.find((candidate) => candidate === written);
  if (level === undefined) {
    t.notes.take('output_config.effort', 'ignored', `unknown value ${quote(written)}`);
  }
  return level;
}

function readThinkingConfig(
  t: Translation,
  native: JsonObject,
): { readonly isOff: boolean; readonly level?: ChatEffort } {
  if (native['thinking'] == null) return { isOff: false };
  const config = readObject(native['thinking'], 'thinking');
  const { type, display } = config;
  if (display != null) {
    t.notes.take('thinking.display', 'ignored', 'the upstream shows what it shows');
  }
  switch (type) {
    case 'disabled':
      return { isOff: true };
    case 'adaptive':
      return { isOff: false };
    case 'between_tools':
      t.notes.take('thinking.type', 'ignored', 'the model decides when to think');
      return { isOff: false };
    case 'enabled':
      return { isOff: false, level: levelOfBudget(config['budget_tokens'], native['max_tokens']) };
    default:
      return refuse(
        'thinking.type',
        'invalid_value',
        `must be "enabled", "disabled", "adaptive" or "between_tools", got ${quote(type)}`,
      );
  }
}

function levelOfBudget(budget: unknown, maxTokens: unknown): ChatEffort {
  if (typeof budget !== 'number' || !Number.isInteger(budget) || budget < MIN_BUDGET_TOKENS) {
    const complaint = `must be an integer of at least ${String(MIN_BUDGET_TOKENS)}, got ${quote(budget)}`;
    refuse('thinking.budget_tokens', 'invalid_value', complaint);
  }
  if (typeof maxTokens === 'number' && budget >= maxTokens) {
    refuse('thinking.budget_tokens', 'invalid_value', 'must be less than max_tokens');
  }
  return BUDGET_LEVELS.find(([limit]) => budget <= limit)?.[1] ?? 'high';
}
