/**
 * Which features that a home may lack a request uses, and where. A body is looked through only if
 * some home lacks one, and once, however many homes are asked.
 */

import { isUtf8 } from 'node:buffer';
import { scanTopLevel } from '@gateway/translator/native';
import type { JsonShape, JsonSpan } from '@gateway/translator/native';
import type { HomeFeature } from '../../config/home-lacks.js';
import { familyOf } from '../../config/tool-families.js';
import type { RequestBody } from '../request-body.js';
import type { AskedOf } from '../upstream.js';

/** The path of the member, or the name of the header, that uses the feature first. */
export type UsedFeatures = ReadonlyMap<HomeFeature, string>;

/**
 * About 2 ms. In a body with more values, features may be overlooked: the home then refuses what it
 * lacks itself.
 */
const MOST_VALUES = 40_000;
const NONE: UsedFeatures = new Map();
const known = new WeakMap<RequestBody, UsedFeatures>();

export function usedFeatures({ body, headers }: AskedOf): UsedFeatures {
  if (body === undefined) return NONE;
  let used = known.get(body);
  if (used === undefined) {
    used = read(body.peek(), headers?.['anthropic-beta']);
    known.set(body, used);
  }
  return used;
}

type Path = readonly (string | number)[];
type OnUse = (feature: HomeFeature, path: Path) => void;

function read(body: Uint8Array, betas: string | undefined): UsedFeatures {
  const used = new Map<HomeFeature, string>();
  const use: OnUse = (feature, path) => {
    if (!used.has(feature)) used.set(feature, path.join('.').slice(0, 300));
  };
  if (betas !== undefined) useBetas(betas, use, ['anthropic-beta']);
  const shape = { member: (name: string) => shapeOfMember(name, body, use) };
  scanTopLevel(body, { shape, isUtf8, maxValues: MOST_VALUES, mayRepeat: true });
  return used;
}

/** Members of the root that use a feature if they are given at all. */
const ROOT_MEMBERS = new Map<string, HomeFeature>([
  ['cache_control', 'automatic_caching'],
  ['container', 'code_execution'],
  ['inference_geo', 'inference_geo'],
  ['output_format', 'structured_outputs'],
  ['speed', 'fast_mode'],
]);
/** The same for lists, which use nothing if they are empty. */
const ROOT_LISTS = new Map<string, HomeFeature>([
  ['fallbacks', 'fallbacks'],
  ['mcp_servers', 'mcp'],
]);
const OUTPUT_MEMBERS = new Map<string, HomeFeature>([
  ['format', 'structured_outputs'],
  ['task_budget', 'task_budgets'],
]);

function shapeOfMember(name: string, body: Uint8Array, use: OnUse): JsonShape | undefined {
  const feature = ROOT_MEMBERS.get(name);
  if (feature !== undefined) return ifGiven(feature, body, use);
  const ofList = ROOT_LISTS.get(name);
  if (ofList !== undefined) return ifGiven(ofList, body, use, 'not_empty');
  switch (name) {
    case 'anthropic_beta':
    case 'betas':
      return {
        item: {
          onText: (beta, path) => {
            useBetas(beta, use, path);
          },
        },
      };
    case 'output_config':
      return {
        member: (member) => {
          const ofMember = OUTPUT_MEMBERS.get(member);
          return ofMember && ifGiven(ofMember, body, use);
        },
      };
    case 'tools':
      return { item: shapeOfTool(body, use) };
    case 'messages':
      return { item: shapeOfMessage(use) };
    default:
      return undefined;
  }
}

function ifGiven(
  feature: HomeFeature,
  body: Uint8Array,
  use: OnUse,
  rule: 'any' | 'not_empty' = 'any',
): JsonShape {
  return {
    onValue({ start, end }: JsonSpan, path) {
      const text = Buffer.from(body.buffer, body.byteOffset + start, Math.min(end - start, 64));
      const isNeutral = rule === 'not_empty' && /^\[\s*\]$/.test(text.toString());
      if (text.toString('latin1', 0, 4) !== 'null' && !isNeutral) use(feature, path);
    },
  };
}

function useBetas(betas: string, use: OnUse, path: Path): void {
  if (betas.trim() === '') return;
  use('betas', path);
  if (betas.toLowerCase().includes('context-1m')) use('long_context', path);
}

const TOOLS = new Map<string, HomeFeature>([
  ['advisor', 'advisor'],
  ['code_execution', 'code_execution'],
  ['mcp_toolset', 'mcp'],
  ['tool_search_tool_bm25', 'tool_search'],
  ['tool_search_tool_regex', 'tool_search'],
  ['web_fetch', 'web_fetch'],
  ['web_search', 'web_search'],
]);
/** From this version on, both tools of the web filter what they find by code. */
const FILTERS_FROM = '20260209';

function shapeOfTool(body: Uint8Array, use: OnUse): JsonShape {
  const strict = {
    onValue: ({ start }: JsonSpan, path: Path) => {
      if (body[start] === TRUE) use('structured_outputs', path);
    },
  };
  const type = {
    onText: (text: string, path: Path) => {
      const feature = TOOLS.get(familyOf(text));
      if (feature === undefined) return;
      use(feature, path);
      const isOfWeb = feature === 'web_search' || feature === 'web_fetch';
      if (isOfWeb && text.slice(-8) >= FILTERS_FROM) use('web_search_filters', path);
    },
  };
  return { member: (name) => (name === 'type' ? type : name === 'strict' ? strict : undefined) };
}

/** The first byte of `true`. */
const TRUE = 0x74;

function shapeOfMessage(use: OnUse): JsonShape {
  const role: JsonShape = {
    onText: (text, path) => {
      if (text === 'system') use('system_messages', path);
    },
  };
  const sourceType: JsonShape = {
    onText: (text, path) => {
      if (text === 'url') use('url_sources', path);
    },
  };
  // The source of a document may consist of blocks, and so may the result of a tool.
  const content: JsonShape = { item: { member: (name) => ofBlock(name) } };
  const source: JsonShape = {
    member: (name) => (name === 'type' ? sourceType : name === 'content' ? content : undefined),
  };
  function ofBlock(name: string): JsonShape | undefined {
    return name === 'source' ? source : name === 'content' ? content : undefined;
  }
  return {
    member: (name) => (name === 'role' ? role : name === 'content' ? content : undefined),
  };
}
