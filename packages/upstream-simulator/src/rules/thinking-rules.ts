/**
 * Rules for `thinking`: which of its kinds a model accepts, and what each may be combined with.
 * https://platform.claude.com/docs/en/build-with-claude/thinking
 */

import {
  BINDING_CONTROLS,
  bindingProblem,
  checkThinking,
  dropsBlocks,
} from '../message/bound-thinking.js';
import { asObject } from '../message/message.js';
import type { Rule } from './rule.js';

const KINDS = ['adaptive', 'between_tools', 'disabled', 'enabled'];
const MIN_BUDGET = 1_024;
const CONTROL = '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';

/** The members beside `type` of each kind. */
export const thinkingMembers: Rule = ({ thinking }, { betas }) => {
  if (thinking === undefined || thinking === null) return undefined;
  const { type, ...others } = asObject(thinking);
  const kind = String(type);
  if (!KINDS.includes(kind)) {
    const expected = KINDS.map((name) => `'${name}'`).join(', ');
    return `thinking: Input tag '${kind}' found using 'type' does not match any of the expected tags: ${expected}`;
  }
  const binding = betas.includes(BINDING_CONTROLS) ? ['block_binding'] : [];
  const known = {
    adaptive: ['display', ...binding],
    enabled: ['budget_tokens', 'display', ...binding],
  }[kind];
  const unknown = Object.keys(others).find((name) => known?.includes(name) !== true);
  return unknown === undefined
    ? undefined
    : `thinking.${kind}.${unknown}: Extra inputs are not permitted`;
};

/** The kinds of thinking that the model accepts. */
export const thinkingKind: Rule = ({ thinking }, { traits }) => {
  if (traits === undefined) return undefined;
  const kind = String(asObject(thinking)['type']);
  const refused = `"thinking.type.${kind}" is not supported for this model.`;
  switch (kind) {
    case 'adaptive':
      return traits.thinkingOn === undefined
        ? 'adaptive thinking is not supported on this model'
        : undefined;
    case 'enabled':
      // Budgets and sampling ended with the same generation of models.
      return traits.sampling === 'refused' ? `${refused} Use ${CONTROL}` : undefined;
    case 'between_tools':
      return traits.thinkingOff === 'between_tools' ? undefined : refused;
    case 'disabled':
      if (traits.thinkingOff === 'never') return `${refused} Use ${CONTROL}`;
      return traits.thinkingOff === 'between_tools'
        ? `${refused} Use "thinking.type.between_tools" for the lowest thinking setting, or ${CONTROL}`
        : undefined;
    default:
      return undefined;
  }
};

/** With interleaved thinking a budget is for all steps of a turn, so it may exceed `max_tokens`. */
export const thinkingBudget: Rule = (request, { betas, endpoint }) => {
  const { type, budget_tokens: budget } = asObject(request['thinking']);
  if (type !== 'enabled') return undefined;
  if (budget === undefined) return 'thinking.enabled.budget_tokens: Field required';
  if (!Number.isInteger(budget)) {
    return 'thinking.enabled.budget_tokens: Input should be a valid integer';
  }
  if (Number(budget) < MIN_BUDGET) {
    return `thinking.enabled.budget_tokens: Input should be greater than or equal to ${String(MIN_BUDGET)}`;
  }
  const isWithin = Number(budget) < Number(request['max_tokens']);
  const isInterleaved = betas.some((beta) => beta.startsWith('interleaved-thinking-'));
  return endpoint === 'count_tokens' || isWithin || isInterleaved
    ? undefined
    : '`max_tokens` must be greater than `thinking.budget_tokens`.';
};

export const thinkingToolChoice: Rule = (request) => {
  const isThinking = ['adaptive', 'enabled'].includes(
    String(asObject(request['thinking'])['type']),
  );
  const choice = asObject(request['tool_choice'])['type'];
  return isThinking && (choice === 'any' || choice === 'tool')
    ? 'Thinking may not be enabled when tool_choice forces tool use.'
    : undefined;
};

/** Thinking is bound to what precedes it. */
export const boundThinking: Rule = (request, { traits }) => {
  if (traits?.bindsThinking !== true || dropsBlocks(request)) return undefined;
  return bindingProblem(checkThinking(request));
};

/** The levels of `output_config.effort`, from the least. */
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'];

export const effort: Rule = (request, { traits }) => {
  const level = asObject(request['output_config'])['effort'];
  if (level === undefined || level === null) return undefined;
  const name = EFFORTS.find((known) => known === level);
  if (name === undefined) {
    return "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'";
  }
  if (traits === undefined) return undefined;
  if (traits.effort.length === 0) return 'This model does not support the effort parameter.';
  if (!traits.effort.includes(name)) {
    const supported = [...traits.effort].sort().join(', ');
    return `This model does not support effort level '${name}'. Supported levels: ${supported}.`;
  }
  return undefined;
};

/** Models that think by default need some thinking at the two highest levels. */
export const effortWithoutThinking: Rule = (request, { traits }) => {
  const level = String(asObject(request['output_config'])['effort']);
  const kind = String(asObject(request['thinking'])['type']);
  const isOff = traits?.thinkingOn === 'default' && ['disabled', 'between_tools'].includes(kind);
  return isOff && EFFORTS.indexOf(level) > EFFORTS.indexOf('high')
    ? `output_config.effort '${level}' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.`
    : undefined;
};
