/**
 * What each kind of home lacks by its documents, beside Anthropic's own API, which lacks none of
 * it. An entry of `UPSTREAMS` names it in `lacks`. docs/homes.md has the same table.
 */

import type { HomeLack } from '../../config/home-lacks.js';
import type { AccountTarget } from '../../config/upstream-target.js';

export interface HomeGaps {
  readonly kind: string;
  /** Recognizes its addresses; absent if they do not tell it from the kind before it. */
  readonly address?: RegExp;
  readonly lacks: readonly HomeLack[];
  /** Pages that say so beside {@link AVAILABILITY}. */
  readonly pages: readonly string[];
  /** The day on which {@link AVAILABILITY}, and excerpts of the pages, were compared with this. */
  readonly read: string;
}

const READ = '2026-12-01';
/** Anthropic's table of features by platform. */
export const AVAILABILITY =
  'https://github.com/anthropics/skills/blob/0da71c3b54277f20e96146648444590eab1dc82c/skills/claude-api/shared/platform-availability.md';
const BUILD = 'https://platform.claude.com/docs/en/build-with-claude';
const AWS = 'https://docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html';
const FOUNDRY = `${BUILD}/claude-in-microsoft-foundry`;
/** A URL is refused with "URL sources are not supported". */
const VERTEX_URLS = 'https://github.com/anthropics/anthropic-sdk-typescript/issues/1038';

/** What all of them lack but Claude Platform on AWS. */
export const COMMON_GAPS: readonly HomeLack[] = [
  'advisor',
  'batches',
  'fallbacks',
  'fast_mode',
  'inference_geo',
  'models',
  'system_messages',
  'task_budgets',
];
const BEDROCK: readonly HomeLack[] = [
  ...COMMON_GAPS,
  'code_execution',
  'files',
  'mcp',
  'web_fetch',
  'web_search',
  'web_search_filters',
];

export const HOME_GAPS: readonly HomeGaps[] = [
  {
    kind: 'Claude Platform on AWS',
    address: /^https:\/\/aws-external-anthropic\.[\w-]+\.api\.aws\b/,
    lacks: ['fast_mode'],
    pages: [`${BUILD}/claude-platform-on-aws`],
    read: READ,
  },
  {
    kind: 'Foundry, hosted on Anthropic',
    address: /^https:\/\/[\w-]+\.services\.ai\.azure\.com\b/,
    lacks: COMMON_GAPS,
    pages: [FOUNDRY],
    read: READ,
  },
  {
    kind: 'Foundry, hosted on Azure',
    lacks: [...COMMON_GAPS, 'code_execution', 'files', 'web_search_filters'],
    pages: [FOUNDRY],
    read: READ,
  },
  {
    kind: 'Bedrock, `bedrock-mantle`',
    address: /^https:\/\/bedrock-mantle\.[\w-]+\.api\.aws\b/,
    lacks: BEDROCK,
    pages: [AWS],
    read: READ,
  },
  {
    kind: 'Bedrock, `bedrock-runtime`',
    address: /^https:\/\/bedrock-runtime\.[\w-]+\.amazonaws\.com\b/,
    lacks: [...BEDROCK, 'count_tokens'],
    pages: [AWS],
    read: READ,
  },
  {
    kind: 'Bedrock, InvokeModel',
    lacks: [...BEDROCK, 'automatic_caching', 'count_tokens'],
    pages: [`${BUILD}/claude-on-amazon-bedrock-legacy`],
    read: READ,
  },
  {
    kind: 'Google Cloud, `rawPredict`',
    address: /^https:\/\/(?:[\w-]+-)?aiplatform(?:\.[\w-]+\.rep)?\.googleapis\.com\b/,
    lacks: [
      ...COMMON_GAPS,
      'code_execution',
      'files',
      'mcp',
      'url_sources',
      'web_fetch',
      'web_search_filters',
    ],
    pages: [`${BUILD}/claude-on-vertex-ai`, VERTEX_URLS],
    read: READ,
  },
];

/**
 * @returns for each account that is known by its address, what its documents say that it lacks and
 * its `lacks` does not. What the gateway refuses everywhere is left out.
 */
export function undeclaredGaps(accounts: readonly AccountTarget[]): readonly string[] {
  return accounts.flatMap(({ name, url, lacks = [] }) => {
    const home = HOME_GAPS.find(({ address }) => address?.test(url) === true);
    const refused: readonly HomeLack[] = ['batches', 'files', ...lacks];
    const missing = (home?.lacks ?? []).filter((lack) => !refused.includes(lack));
    if (home === undefined || missing.length === 0) return [];
    return [
      `UPSTREAMS: account "${name}": by its documents of ${home.read}, ${home.kind} lacks ${missing.join(', ')}`,
    ];
  });
}
