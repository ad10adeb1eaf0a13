/**
 * The rules for native requests that are needed because all keys share the operator's one account
 * with the provider. Members that address objects of that account are refused, and so are features
 * that cost more than tokens, unless the operator allows them. See docs/decisions/0007.
 *
 * Every object of a request is visited, at any depth, except inside `tool_choice`, `metadata` and
 * the free-form members. A rule therefore applies wherever its value can occur,
 * even in places that a later version of the API adds. `upstream-places.test.ts` compares the
 * rules and the free-form members with the types of the provider's SDK.
 */

import type { JsonShape, JsonSpan } from '@gateway/translator/native';
import { TOOL_FAMILIES, familyOf } from '../../config/tool-families.js';
import type { PricedFeature } from '../../config/variables.js';
import { FREE_FORM, MAX_ITEMS } from './deciding-members.js';
import type { MemberOf } from './deciding-members.js';
import { SHARED_ACCOUNT, notEnabled } from './judged-members.js';

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
  /** The `type` of a tool definition, of any type. */
  readonly onToolType: (span: JsonSpan, path: Path) => void;
  /** The `type` in a `cache_control`, before {@link onCacheControl}. */
  readonly onCacheType: (type: string) => void;
  readonly onCacheControl: (span: JsonSpan, path: Path) => void;
  /** A member that names an object of the account. */
  readonly onAddress: (span: JsonSpan, path: Path) => void;
  /** A member named `model`, of any type. */
  readonly onModel: (span: JsonSpan, path: Path) => void;
  /** A member that chooses other rates, or a container, of any type. */
  readonly onRated: (span: JsonSpan, path: Path) => void;
  /** The end of a `source`. */
  readonly onSource: (path: Path) => void;
  /** `max_uses` of a tool. */
  readonly onMaxUses: (span: JsonSpan, path: Path) => void;
  /** The end of a tool definition. */
  readonly onToolEnd: (path: Path) => void;
}

export type Path = readonly (string | number)[];

export interface Place {
  readonly path: Path;
  /** `tool`: in a tool definition. `source`: in the source of an image or document. */
  readonly of: 'tool' | 'source' | 'other';
}

/** A value without anything to read. */
export const SKIPPED: JsonShape = {};

/** @returns the shape of an object whose members are all visited, at any depth */
export function shapeOfEverything(visitor: ObjectVisitor): JsonShape {
  /** Of the members that are the same in all objects. */
  const shapes = new Map<string, JsonShape>();
  const objectWith = (own: ReadonlyMap<string, JsonShape>): JsonShape => ({
    member: (name) => own.get(name) ?? shapes.get(name) ?? any,
    maxItems: MAX_ITEMS,
    // A getter, because the shape refers to itself. A list within a list is also visited.
    get item() {
      return any;
    },
  });
  const ofAny = new Map<string, JsonShape>();
  const any = objectWith(ofAny);
  const typeIn = (of: Place['of']): JsonShape => ({
    ...any,
    onText: (text, path) => {
      visitor.onType(text, { path, of });
    },
  });
  ofAny.set('type', typeIn('other'));
  const ofTool: Readonly<Record<MemberOf<'tool'>, JsonShape>> = {
    type: { ...typeIn('tool'), onValue: visitor.onToolType },
    max_uses: { ...any, onValue: visitor.onMaxUses },
  };
  const tool: JsonShape = {
    ...objectWith(new Map(Object.entries(ofTool))),
    get item() {
      return tool;
    },
    onValue: (_span, path) => {
      visitor.onToolEnd(path);
    },
  };
  const source: JsonShape = {
    ...objectWith(new Map([['type', typeIn('source')]])),
    onValue: (_span, path) => {
      visitor.onSource(path);
    },
  };
  const cacheControl: JsonShape = {
    ...objectWith(new Map([['type', { ...any, onText: visitor.onCacheType }]])),
    onValue: visitor.onCacheControl,
  };
  const rated: JsonShape = { ...any, onValue: visitor.onRated };
  const address: JsonShape = { ...any, onValue: visitor.onAddress };
  const inEveryObject: Readonly<Record<Exclude<MemberOf<'object'>, 'type'>, JsonShape>> = {
    cache_control: cacheControl,
    model: { ...any, onValue: visitor.onModel },
    source,
    // Also one tool that is not in a list.
    tools: tool,
    definition: tool,
    file_id: address,
    previous_message_id: address,
    speed: rated,
    service_tier: rated,
    inference_geo: rated,
    container: rated,
  };
  for (const [name, shape] of Object.entries(inEveryObject)) shapes.set(name, shape);
  for (const name of FREE_FORM) shapes.set(name, SKIPPED);
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
