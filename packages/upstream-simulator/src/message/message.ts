/** The wire types of the simulator's responses, and helpers that read a client's JSON safely. */

export type JsonObject = Readonly<Record<string, unknown>>;

export interface ContentBlock extends JsonObject {
  readonly type: string;
}

/** `usage` of a message, with the API's names. */
export interface MessageUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  };
  readonly output_tokens_details: { readonly thinking_tokens: number };
  /** Present if the provider ran a tool. */
  readonly server_tool_use?: JsonObject;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an object, otherwise an empty object. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export const CHARS_PER_TOKEN = 4;

/** Tokens of a text, in the order of magnitude of the real tokenizers. */
export function tokensOf(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}
