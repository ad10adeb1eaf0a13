/**
 * Translates `reasoning_effort` to the effort and thinking controls that the model has. Clients of
 * other gateways write `reasoning` (OpenRouter) or `thinking` (LiteLLM, and the native API)
 * instead.
 * https://platform.claude.com/docs/en/build-with-claude/effort
 * https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
 */

import { nearest } from '../../reading/nearest-level.js';
import { type Place, quote } from '../../reading/place.js';
import { objectOf, stringOf } from '../../wire/raw-json.js';
import type { ThinkingConfig } from './native-request.js';
import type { EffortLevel, ModelTraits } from './traits.js';

export interface Reasoning {
  readonly effort?: EffortLevel | undefined;
  readonly thinking?: ThinkingConfig;
  /** Whether the client wants no thinking in the answer. */
  readonly isHidden?: boolean | undefined;
}

/** The reasoning that the client asks for. A level takes precedence over a budget. */
export interface ReasoningWish {
  /** Where the client wrote it. */
  readonly field: Place | undefined;
  /** An effort level, or `none`, as the client wrote it. */
  readonly level: string | undefined;
  /** The most thinking tokens. */
  readonly budget?: number | undefined;
  /** Whether thinking is to be turned on, at any level. */
  readonly isOn?: boolean;
  /** Whether the answer is to have no thinking. */
  readonly isHidden?: boolean;
}

/**
 * Facts beside the client's wish. They decide whether thinking is asked for, and whether its text
 * is.
 */
export interface ThinkingLimits {
  /** Whether a call is forced. The upstream refuses that together with thinking. */
  readonly isForced: boolean;
  /** Whether thinking is returned. Current models omit its text unless they are asked for it. */
  readonly isShown: boolean;
}

export const LEVELS: readonly EffortLevel[] = ['low', 'medium', 'high', 'xhigh', 'max'];
/** The largest budget of thinking tokens for each level. Larger budgets are `high`. */
const LOW_BUDGET_TOKENS = 4_096;
const MEDIUM_BUDGET_TOKENS = 16_384;

export function translateReasoning(
  { field, level, budget, isOn, isHidden }: ReasoningWish,
  traits: ModelTraits,
  limits: ThinkingLimits,
): Reasoning {
  const { thinkingOn, thinkingOff } = traits;
  if (level === 'none' && thinkingOff !== 'never') {
    // No model thinks before a forced call, and the upstream refuses one beside `between_tools`.
    const isOff = thinkingOff === 'omit' || (thinkingOff === 'between_tools' && limits.isForced);
    return isOff ? {} : { thinking: { type: thinkingOff } };
  }
  const wanted = level ?? (budget && levelOfBudget(budget));
  const effort = wanted ? effortOf(wanted, level, traits, field) : undefined;
  const isShown = limits.isShown && !isHidden;
  const isWanted = level === undefined ? isOn : LEVELS.some((known) => known === level);
  const isAsked = thinkingOn === 'default' ? isShown : thinkingOn && isWanted;
  const display = isShown ? 'summarized' : undefined;
  if (isAsked && !limits.isForced) {
    return { effort, isHidden, thinking: { type: 'adaptive', display } };
  }
  // Models without `thinkingOn` think only with a token budget in the native request. It is never
  // sent, because the upstream would then require signed thinking before each call.
  if (thinkingOn !== 'default' && isWanted && (thinkingOn || level === undefined)) {
    field?.note('dropped', 'no thinking in this request');
  }
  return { effort, isHidden };
}

/** Reads the reasoning that a chat request asks for, from any of the three members. */
export function readReasoningWish(chat: Place): ReasoningWish {
  const effort = chat.given('reasoning_effort');
  const reasoning = chat.given('reasoning');
  const thinking = chat.given('thinking');
  const field = effort ?? reasoning ?? thinking;
  const wished = objectOf(reasoning?.value);
  const { type, budget_tokens: tokens } = objectOf(thinking?.value);
  const { enabled } = wished;
  const isOff = enabled === false || type === 'disabled';
  const level = effort?.string() ?? (stringOf(wished['effort']) || (isOff ? 'none' : undefined));
  const given = wished['max_tokens'] ?? tokens;
  const budget = typeof given === 'number' && given > 0 ? Math.floor(given) : undefined;
  const isOn = enabled === true || type === 'enabled' || type === 'adaptive' || !!budget;
  const isHidden = wished['exclude'] === true;
  if (!level && !isOn && !isHidden) field?.note('ignored', 'unknown value');
  if (level) noteOverruled(level, effort ? 'reasoning_effort' : 'reasoning.effort', chat);
  return { field, level, budget, isOn, isHidden };
}

/**
 * Notes the members that ask for something else than the level that is used.
 *
 * @param name - The member with the level.
 */
function noteOverruled(level: string, name: string, chat: Place): void {
  const overruled = (holder: string, member: string, other: unknown): void => {
    const field = chat.at(holder).at(member);
    if (field.value === other) field.note('ignored', `${name} is used`);
  };
  const { effort } = objectOf(chat.at('reasoning').value);
  if (stringOf(effort) !== '' && effort !== level) overruled('reasoning', 'effort', effort);
  if (level === 'none') return;
  overruled('reasoning', 'enabled', false);
  overruled('thinking', 'type', 'disabled');
}

/**
 * The model's level that is nearest to the wanted one.
 *
 * @param written - The level that the client wrote, if it wrote one.
 * @param field - Where, for notes.
 */
export function effortOf(
  wanted: string,
  written: string | undefined,
  { effort: levels }: ModelTraits,
  field: Place | undefined,
): EffortLevel | undefined {
  const isLeast = wanted === 'none' || wanted === 'minimal';
  const level = isLeast ? 'low' : LEVELS.find((known) => known === wanted);
  const effort = level && nearest(LEVELS, level, levels);
  if (effort && effort !== written) field?.note('rewritten', `sent as ${effort}`);
  if (!level) field?.note('ignored', `unknown value ${quote(wanted)}`);
  else if (!effort) field?.note('dropped', 'the model takes none');
  return effort;
}

function levelOfBudget(budget: number): EffortLevel {
  if (budget <= LOW_BUDGET_TOKENS) return 'low';
  return budget <= MEDIUM_BUDGET_TOKENS ? 'medium' : 'high';
}
