/**
 * `tool_choice` in any form a client may send, to the native one. Used on both endpoints, so that a
 * choice means the same whichever format it came in.
 */

export type NativeToolChoice =
  | { readonly type: 'auto' | 'any'; readonly disable_parallel_tool_use?: boolean }
  | { readonly type: 'tool'; readonly name: string; readonly disable_parallel_tool_use?: boolean }
  | { readonly type: 'none' };
