/** Who spent: what reports filter and group by, besides keys and accounts. */

import { z } from 'zod';
import type {
  SpenderDimension,
  SpenderMetadata,
  SpendingQuery,
  SpendingSum,
} from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { groupId, help, memberId } from './fields.js';
import { line } from './storable.js';
import { costFigures, timeAndOwner } from './views.js';

export const SPENDER_GROUPS = ['member', 'group', 'tag', 'run'] as const;

/** `member.metadata.cost_center`: members that have the same value under this name are one. */
export type MetadataGroup = `${'member' | 'group'}.metadata.${string}`;

const METADATA_GROUP = '(member|group)\\.metadata\\.([^,]{1,100})';

/** For the help of a field that takes them. */
export const ALSO_METADATA = 'member.metadata.<name> or group.metadata.<name>';

export const metadataGroups = {
  pattern: METADATA_GROUP,
  includes: (text: string): text is MetadataGroup => metadataOf(text) !== undefined,
  says: ALSO_METADATA,
};

export const metadataGroup = z.templateLiteral([
  z.enum(['member', 'group']),
  '.metadata.',
  z.string().min(1).max(100),
]);

function metadataOf(text: string): SpenderMetadata | undefined {
  const [, of, name] = new RegExp(`^${METADATA_GROUP}$`).exec(text) ?? [];
  if (of === undefined || name === undefined) return undefined;
  return { of: of === 'member' ? 'member' : 'group', name };
}

const label = line.min(1).max(200);

/** Filters of sums of charges. */
export const spenderFields = {
  member_id: memberId.optional().register(help, { says: 'only charges of this member' }),
  group_id: groupId
    .optional()
    .register(help, { says: 'only charges of this group, with the groups below it' }),
  tag: label.optional().register(help, { says: 'only charges with this tag' }),
  run: label.optional().register(help, { says: 'only charges of this run' }),
} as const;

type SpenderFields = {
  readonly [Name in keyof typeof spenderFields]?: string | undefined;
};
export type SpenderFilter = Pick<SpendingQuery, 'memberId' | 'groupId' | 'tag' | 'run'>;

export function spenderFilterOf({ member_id, group_id, tag, run }: SpenderFields): SpenderFilter {
  return { memberId: member_id, groupId: group_id, tag, run };
}

/** The field of the first filter that is given; `undefined` if none is. */
export function filterFieldOf({
  memberId,
  groupId,
  tag,
  run,
}: SpenderFilter): keyof typeof spenderFields | undefined {
  if (memberId !== undefined) return 'member_id';
  if (groupId !== undefined) return 'group_id';
  if (tag !== undefined) return 'tag';
  return run === undefined ? undefined : 'run';
}

/** The dimension of the ledger's sums, and which metadata; `undefined` for any other text. */
export function spenderDimensionOf(
  text: string,
): { readonly dimension: SpenderDimension; readonly metadata?: SpenderMetadata } | undefined {
  const dimension = SPENDER_GROUPS.find((group) => group === text);
  if (dimension !== undefined) return { dimension };
  const metadata = metadataOf(text);
  return metadata === undefined ? undefined : { dimension: 'metadata', metadata };
}

/** A sum as operators see it, with the cost of its requests, as far as that is recorded. */
export function spendingSumView(sum: SpendingSum, by: readonly string[]) {
  const { usage } = sum;
  return {
    object: 'usage_sum' as const,
    ...timeAndOwner(sum, by),
    ...(sum.memberId === undefined ? {} : { member_id: sum.memberId }),
    ...(sum.groupId === undefined ? {} : { group_id: sum.groupId }),
    ...(sum.tag === undefined ? {} : { tag: sum.tag }),
    ...(sum.run === undefined ? {} : { run: sum.run }),
    ...(sum.metadata === undefined ? {} : { metadata: sum.metadata }),
    others: sum.others,
    requests: sum.requests,
    input_tokens: Number(usage.inputTokens),
    output_tokens: Number(usage.outputTokens),
    cache_read_input_tokens: Number(usage.cacheReadInputTokens),
    cache_creation_input_tokens: Number(usage.cacheCreationInputTokens),
    charged_usd: formatUsd(sum.charged),
    written_off_usd: formatUsd(sum.writtenOff),
    ...costFigures(sum),
  };
}
