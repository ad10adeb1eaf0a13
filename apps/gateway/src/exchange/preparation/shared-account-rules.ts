/**
 * The rules for native requests that are needed because all keys share the operator's one account
 * with the provider. Members that address objects of that account are refused, and so are features
 * that cost more than tokens, unless the operator allows them. See docs/decisions/0007.
 *
 * Every object of a request is visited, at any depth, except inside `tool_choice`, `metadata`,
 * `cache_control` and the members of {@link FREE_FORM}. A rule therefore applies wherever its value
 * can occur, even in places that a later version of the API adds.
 * `test/upstream-places.test.ts` compares the rules and the free-form members with the types of the
 * provider's SDK.
 */

import { z } from 'zod';
import type { JsonShape, JsonSpan } from '@gateway/translator/native';
import { TOOL_FAMILIES, familyOf } from '../../config/tool-families.js';
import type { PricedFeature } from '../../config/variables.js';
import { isGiven, readScalar, textOf } from './native-fields.js';
import type { FoundMember } from './native-fields.js';

/**
 * Members that are skipped, wherever they are: tool inputs and schemas, and the trigger of a
 * fallback, which the provider's types declare as free-form; and the caller of a tool. They may
 * contain anything, even names like those below.
 */
export const FREE_FORM: ReadonlySet<string> = new Set([
  'input',
  'input_schema',
  'input_examples',
  'schema',
  'caller',
  'trigger',
]);

/** The provider's own limit for messages. Other lists never need more items. */
export const MAX_ITEMS = 100_000;

export const SHARED_ACCOUNT =
  'is not supported: it addresses objects of an account that many keys share';

function notEnabled(feature: PricedFeature): string {
  return `is not enabled on this gateway: it costs more than tokens (${feature})`;
}

// --- Members of the root, and of an entry of `fallbacks` --------------------------------------

/** Members that address the account when they are present and not null. */
export const ACCOUNT_MEMBERS = ['billing_policy', 'workspace_id', 'user_profile_id'] as const;
/** Members that cost more than tokens when they are present and not null. */
export const PRICED_MEMBERS: readonly (readonly [name: string, feature: PricedFeature])[] = [
  ['fallbacks', 'fallbacks'],
  ['mcp_servers', 'mcp'],
  ['compaction', 'compaction'],
  ['inference_geo', 'inference_geo'],
];

const FEATURES: ReadonlyMap<string, PricedFeature> = new Map(PRICED_MEMBERS);

/** Values that mean the same as leaving the member out. */
const NEUTRAL_VALUES: Readonly<Record<string, string>> = {
  inference_geo: '"global"',
  billing_policy: '{"bill_to":"self"}',
};

/** Whether a member asks for nothing: its neutral value, or an empty list. */
export function isNeutral(name: string, found: FoundMember): boolean {
  const text = JSON.stringify(readShort(found));
  return text === '[]' || text === NEUTRAL_VALUES[name];
}

const MAX_SHORT_BYTES = 8 * 1024;
const whitespace = /\s/g;

/**
 * The value of a member; `undefined` if it is long, or if it may have another value for the
 * upstream: of a member that is given twice, either may be read.
 */
function readShort({ body, span }: FoundMember): unknown {
  if (span.end - span.start > MAX_SHORT_BYTES) return undefined;
  const text = textOf(body, span);
  const value: unknown = JSON.parse(text);
  const written = JSON.stringify(value);
  const isSame = written.replace(whitespace, '') === text.replace(whitespace, '');
  return isSame ? value : undefined;
}

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
  return newContainer.safeParse(readShort(found)).success;
}

/**
 * The members that {@link findMemberProblem} judges. An entry of `fallbacks` may have any of them:
 * the provider's types leave it open, and its members replace those of the request.
 */
export const JUDGED_MEMBERS: readonly string[] = [
  ...ACCOUNT_MEMBERS,
  ...PRICED_MEMBERS.map(([name]) => name),
  'container',
  'speed',
  'service_tier',
];

/** @returns the problem of the top-level members, if there is one */
export function findRootProblem(
  find: (name: string) => FoundMember | undefined,
  allow: ReadonlySet<PricedFeature>,
): string | undefined {
  for (const name of JUDGED_MEMBERS) {
    const problem = findMemberProblem(name, find(name), allow);
    if (problem !== undefined) return `${name}: ${problem}`;
  }
  return undefined;
}

/** @returns the problem of one of the {@link JUDGED_MEMBERS}, if it has one */
export function findMemberProblem(
  name: string,
  found: FoundMember | undefined,
  allow: ReadonlySet<PricedFeature>,
): string | undefined {
  if (!isGiven(found)) return undefined;
  switch (name) {
    case 'container':
      if (!isNewContainer(found)) return SHARED_ACCOUNT;
      return allow.has('code_execution') ? undefined : notEnabled('code_execution');
    case 'speed': {
      const isAllowed = readScalar(found) === 'standard' || allow.has('fast_mode');
      return isAllowed ? undefined : notEnabled('fast_mode');
    }
    case 'service_tier': {
      const isAllowed = ['auto', 'standard_only'].includes(String(readScalar(found)));
      return isAllowed ? undefined : 'must be "auto" or "standard_only"';
    }
    default: {
      if (isNeutral(name, found)) return undefined;
      const feature = FEATURES.get(name);
      if (feature === undefined) return SHARED_ACCOUNT;
      return allow.has(feature) ? undefined : notEnabled(feature);
    }
  }
}

// --- Anywhere within the members of the root ---------------------------------------------------

/**
 * Whether this `model` only reports what happened: in an earlier turn, the answer changed from one
 * model to another. The provider does not compare it with the models of this request.
 */
export function isReportedModel(path: Path): boolean {
  const [root, , content, , member] = path;
  const isInBlock = root === 'messages' && content === 'content' && path.length === 6;
  return isInBlock && (member === 'from' || member === 'to');
}

/** Receives the findings from all objects. Paths are only valid during the call. */
export interface ObjectVisitor {
  readonly onType: (type: string, place: Place) => void;
  readonly onCacheControl: (found: CacheControl, path: Path) => void;
  /** A member named in {@link ADDRESSES}. */
  readonly onAddress: (span: JsonSpan, path: Path) => void;
  /** A member named `model`, of any type. */
  readonly onModel: (span: JsonSpan, path: Path) => void;
  /** A member named in {@link RATED}, of any type. */
  readonly onRated: (span: JsonSpan, path: Path) => void;
  /** `max_uses` of a tool. */
  readonly onMaxUses: (span: JsonSpan, path: Path) => void;
  /** The end of a tool definition. */
  readonly onToolEnd: (path: Path) => void;
}

export interface CacheControl {
  readonly span: JsonSpan;
  /** Its `type`, if it is an object that has one. */
  readonly type: string | undefined;
}

/** Members that name an object of the account. */
export const ADDRESSES: ReadonlySet<string> = new Set(['file_id', 'previous_message_id']);

/** Members that choose other rates, or a container, if their value is a text. */
export const RATED: ReadonlySet<string> = new Set([
  'speed',
  'service_tier',
  'inference_geo',
  'container',
]);

export type Path = readonly (string | number)[];

export interface Place {
  readonly path: Path;
  /** `tool`: in a tool definition. `source`: in the source of an image or document. */
  readonly of: 'tool' | 'source' | 'other';
}

/** @returns the shape of an object whose members are all visited, at any depth */
export function shapeOfEverything(visitor: ObjectVisitor): JsonShape {
  let cacheType: string | undefined;
  const cacheTypeShape: JsonShape = {
    onText: (type) => {
      cacheType = type;
    },
  };
  const cacheControl: JsonShape = {
    member: (name) => (name === 'type' ? cacheTypeShape : undefined),
    onValue: (span, path) => {
      const type = cacheType;
      cacheType = undefined;
      visitor.onCacheControl({ span, type }, path);
    },
  };
  const address: JsonShape = { onValue: visitor.onAddress };
  const maxUses: JsonShape = { onValue: visitor.onMaxUses };
  const membersOf = (of: Place['of']) => {
    const type: JsonShape = {
      onText: (text, path) => {
        visitor.onType(text, { path, of });
      },
    };
    return (name: string): JsonShape | undefined => {
      switch (name) {
        case 'type':
          return type;
        case 'cache_control':
          return cacheControl;
        case 'model':
          return model;
        case 'max_uses':
          return of === 'tool' ? maxUses : any;
        case 'source':
          return source;
        case 'tools':
          return tools;
        case 'definition':
          return tool;
        default:
          if (FREE_FORM.has(name)) return undefined;
          if (RATED.has(name)) return rated;
          return ADDRESSES.has(name) ? address : any;
      }
    };
  };
  const onToolEnd = (_span: JsonSpan, path: Path): void => {
    visitor.onToolEnd(path);
  };
  // Getters, because shapes refer to each other and to themselves; a list within a list is also
  // visited.
  const any: JsonShape = {
    member: membersOf('other'),
    maxItems: MAX_ITEMS,
    get item() {
      return any;
    },
  };
  const model: JsonShape = { ...any, onValue: visitor.onModel };
  const rated: JsonShape = { ...any, onValue: visitor.onRated };
  const source: JsonShape = { ...any, member: membersOf('source') };
  const tool: JsonShape = { ...any, member: membersOf('tool'), onValue: onToolEnd };
  const tools: JsonShape = { ...any, item: tool };
  return any;
}

/** @returns the problem of an object of this type, if there is one */
export function findTypeProblem(
  type: string,
  { of }: Place,
  allow: ReadonlySet<PricedFeature>,
): string | undefined {
  if (type === 'file' || type === 'container_upload') return SHARED_ACCOUNT;
  if (type.startsWith('compact_') && !allow.has('compaction')) return notEnabled('compaction');
  const family = TOOL_FAMILIES.get(familyOf(type));
  if (family?.feature !== undefined && !allow.has(family.feature))
    return notEnabled(family.feature);
  if (of === 'tool' && family === undefined && !allow.has('unknown_tools')) {
    return `is not known to this gateway, so it may cost more than tokens (unknown_tools)`;
  }
  return undefined;
}
