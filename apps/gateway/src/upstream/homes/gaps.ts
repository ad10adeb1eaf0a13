/**
 * What each kind of home lacks by its documents, beside Anthropic's own API, which lacks none of
 * it. An entry of `UPSTREAMS` names it in `lacks`. The table in docs/homes.md is this one.
 */

import type { HomeLack } from '../../config/home-lacks.js';

export interface HomeGaps {
  readonly kind: string;
  readonly lacks: readonly HomeLack[];
  /** Pages that say so, and the day on which they were last compared with this. */
  readonly pages: readonly string[];
  readonly read: string;
}

const READ = '2026-12-01';
/** Anthropic's table of features by platform. */
const AVAILABILITY =
  'https://github.com/anthropics/skills/blob/0da71c3b54277f20e96146648444590eab1dc82c/skills/claude-api/shared/platform-availability.md';
const BUILD = 'https://platform.claude.com/docs/en/build-with-claude';
const AWS = 'https://docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html';
const FOUNDRY = `${BUILD}/claude-in-microsoft-foundry`;
/** A URL is refused with "URL sources are not supported". */
const VERTEX_URLS = 'https://github.com/anthropics/anthropic-sdk-typescript/issues/1038';

/** What no cloud has that runs the models itself. */
const CLOUD: readonly HomeLack[] = [
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
  ...CLOUD,
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
    lacks: ['fast_mode'],
    pages: [AVAILABILITY, `${BUILD}/claude-platform-on-aws`],
    read: READ,
  },
  {
    kind: 'Foundry, hosted on Anthropic',
    lacks: CLOUD,
    pages: [AVAILABILITY, FOUNDRY],
    read: READ,
  },
  {
    kind: 'Foundry, hosted on Azure',
    lacks: [...CLOUD, 'code_execution', 'files', 'web_search_filters'],
    pages: [AVAILABILITY, FOUNDRY],
    read: READ,
  },
  {
    kind: 'Bedrock, `bedrock-mantle`',
    lacks: BEDROCK,
    pages: [AVAILABILITY, AWS],
    read: READ,
  },
  {
    kind: 'Bedrock, `bedrock-runtime`',
    lacks: [...BEDROCK, 'count_tokens'],
    pages: [AVAILABILITY, AWS],
    read: READ,
  },
  {
    kind: 'Bedrock, InvokeModel',
    lacks: [...BEDROCK, 'automatic_caching', 'count_tokens'],
    pages: [AVAILABILITY, `${BUILD}/claude-on-amazon-bedrock-legacy`],
    read: READ,
  },
  {
    kind: 'Google Cloud, `rawPredict`',
    lacks: [
      ...CLOUD,
      'code_execution',
      'files',
      'mcp',
      'url_sources',
      'web_fetch',
      'web_search_filters',
    ],
    pages: [AVAILABILITY, `${BUILD}/claude-on-vertex-ai`, VERTEX_URLS],
    read: READ,
  },
];
