/**
 * The API's reasons to refuse a request, by name, in the order in which they are checked: first
 * the header and the shape of the request, then what its model accepts.
 */

import type { JsonObject } from '../message/message.js';
import { outputFormatProblem } from '../schemas/output-format.js';
import { knownBetas } from './beta-rules.js';
import { blocks, cachePoints, uniqueCalls } from './block-rules.js';
import { knownMembers, knownModel, maxTokens, modelMember } from './member-rules.js';
import { messageShape, prefill, systemMessages, toolResults } from './message-rules.js';
import type { RequestError, Rule, RuleContext } from './rule.js';
import { modelSampling, samplingRange, thinkingSampling } from './sampling-rules.js';
import {
  boundThinking,
  effort,
  effortWithoutThinking,
  thinkingBudget,
  thinkingKind,
  thinkingMembers,
  thinkingToolChoice,
} from './thinking-rules.js';
import {
  forcedTools,
  modelTools,
  strictTools,
  toolChoice,
  toolDefinitions,
  toolTypes,
  uniqueTools,
} from './tool-rules.js';
import { blockPlaces, samplingMembers } from './version-rules.js';

/** `count_tokens` does not compile the schema, so it accepts any format. */
const outputFormat: Rule = (request, { betas, endpoint }) =>
  endpoint === 'messages' ? outputFormatProblem(request, betas) : undefined;

const RULES = {
  'known-betas': knownBetas,
  'model-member': modelMember,
  'known-members': knownMembers,
  'max-tokens': maxTokens,
  'sampling-members': samplingMembers,
  'thinking-members': thinkingMembers,
  'message-shape': messageShape,
  'block-places': blockPlaces,
  'tool-types': toolTypes,
  'tool-definitions': toolDefinitions,
  'known-model': knownModel,
  'model-sampling': modelSampling,
  'sampling-range': samplingRange,
  'thinking-kind': thinkingKind,
  'thinking-budget': thinkingBudget,
  'thinking-tool-choice': thinkingToolChoice,
  'thinking-sampling': thinkingSampling,
  effort,
  'effort-without-thinking': effortWithoutThinking,
  'model-tools': modelTools,
  'unique-tools': uniqueTools,
  'strict-tools': strictTools,
  'tool-choice': toolChoice,
  'forced-tools': forcedTools,
  'tool-results': toolResults,
  blocks,
  'unique-calls': uniqueCalls,
  prefill,
  'system-messages': systemMessages,
  'bound-thinking': boundThinking,
  'cache-points': cachePoints,
  'output-format': outputFormat,
} satisfies Record<string, Rule>;

/** The name of a rule that a simulator may be lenient about. */
export type RuleName = keyof typeof RULES;

export const RULE_NAMES = Object.keys(RULES) as readonly RuleName[];

/**
 * @param lenient - Rules that are not applied.
 * @returns the API's refusal of a request; `undefined` for a valid one
 */
export function requestProblem(
  request: JsonObject,
  context: RuleContext,
  lenient: ReadonlySet<string>,
): RequestError | undefined {
  for (const name of RULE_NAMES) {
    const problem = lenient.has(name) ? undefined : RULES[name](request, context);
    if (typeof problem === 'string') return { type: 'invalid_request_error', message: problem };
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** @throws {TypeError} a name is not that of a rule */
export function lenientRules(names: readonly string[] = []): readonly RuleName[] {
  return names.map((name) => {
    const rule = RULE_NAMES.find((known) => known === name);
    if (rule !== undefined) return rule;
    throw new TypeError(`lenient: no rule is called "${name}"; there are ${RULE_NAMES.join(', ')}`);
  });
}
