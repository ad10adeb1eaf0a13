/** The charges that were computed by hand at the provider's list, as responses of the upstream. */

import { readMessage } from '@gateway/translator/native';
import { SCENARIOS } from '@gateway/upstream-simulator';
import type { ScriptedReply } from '@gateway/upstream-simulator';
import vectorsJson from '../../../../packages/billing/test/vectors/list-charges.json';
import { TOOL_LOOP, userMessage } from './gateway.js';

export interface Attempt {
  readonly model: string;
  readonly usage: Readonly<Record<string, number>>;
  readonly circumstances?: Readonly<Record<string, string>>;
  readonly server_tool_use?: Readonly<Record<string, number>>;
  readonly end?: { readonly kind: string; readonly category?: string };
}
export interface Vector {
  readonly row: string;
  readonly name: string;
  /** From when until when the list has these prices; absent: as long as the others. */
  readonly at?: string;
  readonly until?: string;
  readonly attempts: readonly Attempt[];
  readonly total: string;
}
const NOW = Date.now();
/** Those that a gateway charges now. */
export const vectors = (vectorsJson as unknown as readonly Vector[]).filter(
  ({ at = '1970-01-01', until = '9999-01-01' }) => Date.parse(at) <= NOW && NOW < Date.parse(until),
);

/** A response, by its attempts. */
export type Reply = Pick<Vector, 'attempts' | 'name'>;

/** A message of two model runs, with prompts of these lengths. */
const runsOf = (first: number, second: number): Reply => ({
  name: 'runs',
  attempts: [first, second].map((input_tokens) => ({
    model: 'claude-haiku-5-5',
    usage: { input_tokens, output_tokens: 10 },
  })),
});
/** The second has both runs in the lower band, the third has one in each. */
export const RUNS: readonly Reply[] = [
  runsOf(100_001, 100_002),
  runsOf(60_000, 60_001),
  runsOf(60_000, 100_001),
];

/** The variables with which all models of the list are offered. */
export const ALL_MODELS = { VERIFIED_MODELS: 'claude-mythos-5-1,claude-mythos-5-2' };

function nativeUsage({ usage, circumstances = {}, server_tool_use }: Attempt) {
  const { cache_creation_1h_input_tokens: of1h = 0, ...counts } = usage;
  return {
    ...counts,
    cache_creation: {
      ephemeral_5m_input_tokens: (counts['cache_creation_input_tokens'] ?? 0) - of1h,
      ephemeral_1h_input_tokens: of1h,
    },
    ...(circumstances['speed'] !== undefined && { speed: circumstances['speed'] }),
    ...(circumstances['serviceTier'] !== undefined && {
      service_tier: circumstances['serviceTier'],
    }),
    ...(circumstances['inferenceGeo'] !== undefined && {
      inference_geo: circumstances['inferenceGeo'],
    }),
    ...(server_tool_use !== undefined && { server_tool_use }),
  };
}

type Script = Pick<ScriptedReply, 'usage' | 'content' | 'stopReason' | 'stopDetails'>;

/** What the upstream answers: the last attempt is the message, and each is an iteration. */
export function scripted({ attempts, name }: Reply): Script {
  if (name === 'runs') return { usage: usageOfRuns({ attempts }) };
  const last = attempts.at(-1)!;
  const isFallback = name.includes('fallback');
  const kindOf = (attempt: Attempt): string => {
    if (attempt === last) return isFallback ? 'fallback_message' : 'message';
    if (isFallback) return 'message';
    return attempt.model === last.model ? 'compaction' : 'advisor_message';
  };
  const iterations = attempts.map((attempt) => ({
    type: kindOf(attempt),
    model: attempt.model,
    ...nativeUsage(attempt),
  }));
  const usage = {
    ...nativeUsage(last),
    ...((isFallback || iterations.length > 1) && { iterations }),
  };
  const hops = isFallback ? hopsOf(attempts) : [];
  if (last.end?.kind !== 'refused')
    return { usage, ...(isFallback && { content: [...hops, TEXT] }) };
  const stopDetails = { type: 'refusal', category: last.end.category ?? null, explanation: null };
  return { ...SCENARIOS['refusal'], stopDetails, usage, ...(isFallback && { content: hops }) };
}

const TEXT = { type: 'text', text: 'Hello' };

/** The blocks that mark where a model declined and the next one went on, after its own content. */
function hopsOf(attempts: readonly Attempt[]) {
  return attempts.slice(1).flatMap(({ model }, index) => {
    const { model: from, end } = attempts[index]!;
    const trigger = { type: 'refusal', category: end?.category ?? null };
    const hop = { type: 'fallback', from: { model: from }, to: { model }, trigger };
    return end?.kind === 'refused' ? [hop] : [TEXT, hop];
  });
}

/** The counts of the message are the sums of its runs. */
function usageOfRuns({ attempts }: Pick<Reply, 'attempts'>) {
  const sumOf = (count: string) => attempts.reduce((sum, { usage }) => sum + usage[count]!, 0);
  const iterations = attempts.map(({ model, usage }) => ({ type: 'message', model, ...usage }));
  return {
    input_tokens: sumOf('input_tokens'),
    output_tokens: sumOf('output_tokens'),
    iterations,
  };
}

/** What the gateway reads of such a response. */
export function readingOf(of: Reply) {
  const { usage, content = [TEXT], stopReason, stopDetails } = scripted(of);
  return readMessage({ usage, content, stop_reason: stopReason, stop_details: stopDetails });
}

/** The request that such a response answers. */
export function requestOf({ attempts, name }: Reply) {
  const [first, ...others] = attempts.map(({ model }) => model);
  return name.includes('fallback')
    ? userMessage('Hello', {
        ...TOOL_LOOP,
        model: first,
        fallbacks: others.map((model) => ({ model })),
      })
    : userMessage('Hello', { ...TOOL_LOOP, model: attempts.at(-1)!.model });
}
