/**
 * The schema of a function without arguments. Anthropic requires its `type`, and OpenAI also its
 * `properties`.
 */
export function emptySchema(): { readonly type: 'object'; readonly properties: object } {
  return { type: 'object', properties: {} };
}
