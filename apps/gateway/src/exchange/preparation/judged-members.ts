/**
 * The rules for the members that are judged by their value. Each states what is neutral: values
 * that mean the same as leaving the member out. Anything else is refused, or needs a feature that
 * the operator allows, however it is written. See docs/decisions/0007.
 */

import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { scanTopLevel } from '@gateway/translator/native';
import type { JsonShape } from '@gateway/translator/native';
import type { PricedFeature } from '../../config/variables.js';
import type { JudgedMember } from './deciding-members.js';
import { isEmptyList, isGiven, readScalar, textOf } from './native-fields.js';
import type { FoundMember } from './native-fields.js';

export const SHARED_ACCOUNT =
  'is not supported: it addresses objects of an account that many keys share';

const MORE_THAN_TOKENS = 'it costs more than tokens';
const OTHER_RATES = 'it changes the price of tokens';
const TOKENS_BESIDE = "it may use tokens beside the counts of the response's usage";

/** Why a feature needs the operator's leave. */
const REASONS: Readonly<Record<PricedFeature, string>> = {
  web_search: MORE_THAN_TOKENS,
  code_execution: MORE_THAN_TOKENS,
  fast_mode: OTHER_RATES,
  inference_geo: OTHER_RATES,
  fallbacks: TOKENS_BESIDE,
  advisor: TOKENS_BESIDE,
  compaction: TOKENS_BESIDE,
  mcp: 'servers that the request names may answer with any number of tokens',
  unknown_tools: 'it may cost more than tokens',
};

export function notEnabled(feature: PricedFeature): string {
  return `is not enabled on this gateway: ${REASONS[feature]} (${feature})`;
}

type Allowed = ReadonlySet<PricedFeature>;
/** @returns the problem of a value that is not null, if it has one */
type Rule = (found: FoundMember, allow: Allowed) => string | undefined;

const addressing =
  (isNeutral: (found: FoundMember) => boolean): Rule =>
  (found) =>
    isNeutral(found) ? undefined : SHARED_ACCOUNT;

const needing =
  (feature: PricedFeature, isNeutral: (found: FoundMember) => boolean): Rule =>
  (found, allow) =>
    allow.has(feature) || isNeutral(found) ? undefined : notEnabled(feature);

const never = (): boolean => false;
const is =
  (...texts: readonly string[]) =>
  (found: FoundMember): boolean => {
    const value = readScalar(found);
    return typeof value === 'string' && texts.includes(value);
  };

const RULES: Readonly<Record<JudgedMember, Rule>> = {
  billing_policy: addressing(isBilledToSelf),
  workspace_id: addressing(never),
  user_profile_id: addressing(never),
  fallbacks: needing('fallbacks', isEmptyList),
  mcp_servers: needing('mcp', isEmptyList),
  compaction: needing('compaction', never),
  inference_geo: needing('inference_geo', is('global')),
  container: (found, allow) =>
    isNewContainer(found) ? needing('code_execution', never)(found, allow) : SHARED_ACCOUNT,
  speed: needing('fast_mode', is('standard')),
  service_tier: (found) =>
    is('auto', 'standard_only')(found) ? undefined : 'must be "auto" or "standard_only"',
};

/** @returns the problem of a judged member, which may be absent, if it has one */
export function findMemberProblem(
  name: JudgedMember,
  found: FoundMember | undefined,
  allow: Allowed,
): string | undefined {
  return isGiven(found) ? RULES[name](found, allow) : undefined;
}

function isBilledToSelf({ body, span: { start, end } }: FoundMember): boolean {
  const policy = body.subarray(start, end);
  // A repeated member is refused by this scan, and so is any other member.
  const scan = scanTopLevel(policy, { isUtf8, maxValues: 1 });
  const billTo = scan.outcome === 'scanned' ? scan.members.get('bill_to') : undefined;
  return billTo !== undefined && readScalar({ body: policy, span: billTo }) === 'self';
}

/** More than the provider accepts. The bound is one of values, so that spaces and escapes pass. */
const MAX_CONTAINER_VALUES = 500;
const once: JsonShape = { isUnique: true };
const containerShape: JsonShape = { member: () => ({ item: { member: () => once } }) };

const newContainer = z.strictObject({
  id: z.null().optional(),
  skills: z
    .array(
      z.strictObject({
        type: z.literal('anthropic'),
        skill_id: z.string(),
        version: z.string().nullish(),
      }),
    )
    .nullish(),
});

/**
 * Whether a container is one that the provider makes for this request, with its own skills. An
 * earlier container and a skill of type `custom` are objects of the account. See
 * docs/decisions/0064.
 */
function isNewContainer(found: FoundMember): boolean {
  const { body, span } = found;
  const scan = scanTopLevel(body.subarray(span.start, span.end), {
    isUtf8,
    shape: containerShape,
    maxValues: MAX_CONTAINER_VALUES,
  });
  return (
    scan.outcome === 'scanned' && newContainer.safeParse(JSON.parse(textOf(body, span))).success
  );
}
