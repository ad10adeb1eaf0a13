/**
 * The members of a native request that decide about rights, prices or holds: stated once. The scan
 * takes the shape of each member from these lists, and a test writes each of them in every way that
 * JSON allows, and demands the same answer.
 *
 * The rule for all of them: a value that cannot be read exactly as the upstream reads it is never
 * taken for a harmless one. It is parsed, whatever its length, or refused by name.
 */

/**
 * Members that are judged by their value, at the root and in an entry of `fallbacks`: the
 * provider's types leave an entry open, and its members replace those of the request.
 */
export const JUDGED_MEMBERS = [
  'billing_policy',
  'workspace_id',
  'user_profile_id',
  'fallbacks',
  'mcp_servers',
  'compaction',
  'inference_geo',
  'container',
  'speed',
  'service_tier',
] as const;

export type JudgedMember = (typeof JUDGED_MEMBERS)[number];

/** Members that name an object of the account. */
const ADDRESSES = ['file_id', 'previous_message_id'] as const;

/** Members that choose other rates, or a container, if their value is a text. */
const RATED = ['speed', 'service_tier', 'inference_geo', 'container'] as const;

/** The members by the object that they are in. */
export const DECIDING_MEMBERS = {
  /** If one of these is repeated, the upstream may read either, so the request is refused. */
  root: [
    'model',
    'max_tokens',
    'messages',
    'stream',
    'tools',
    'tool_choice',
    'thread',
    ...JUDGED_MEMBERS,
  ],
  /** An entry of `fallbacks`. The same holds for members that are repeated. */
  fallback: ['model', 'max_tokens', 'tools', ...JUDGED_MEMBERS],
  /**
   * Any object that is not free-form data, also the two above and the one below. If a member is
   * repeated, each of its values is judged and counted.
   */
  object: [
    'type',
    'cache_control',
    'model',
    'source',
    'tools',
    'definition',
    ...ADDRESSES,
    ...RATED,
  ],
  /** A tool definition. */
  tool: ['type', 'max_uses'],
} as const;

export type MemberOf<Place extends keyof typeof DECIDING_MEMBERS> =
  (typeof DECIDING_MEMBERS)[Place][number];

/**
 * Members that are skipped, wherever they are: tool inputs and schemas, and the trigger of a
 * fallback, which the provider's types declare as free-form; and the caller of a tool. They may
 * contain anything, even names like those above.
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
