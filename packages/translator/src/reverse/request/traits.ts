/** The properties of a chat upstream that the translation depends on. */

import type { ChatEffort } from './chat-request.js';

export interface ChatTraits {
  /** The member that limits the answer. Older servers know only `max_tokens`. */
  readonly maxTokens: 'max_completion_tokens' | 'max_tokens';
  /** Whether the model accepts `temperature` and `top_p`. */
  readonly sampling: 'accepted' | 'refused';
  /** The levels of `reasoning_effort`; empty when the model has no such control. */
  readonly effort: readonly ChatEffort[];
  /**
   * The content that the upstream accepts in `file` parts: PDF, as OpenAI does, or also text and
   * web addresses. If it accepts no text files, a text document is sent as text. If it accepts no
   * PDF, a PDF document is refused.
   */
  readonly files: 'any' | 'pdf' | 'none';
  /**
   * Whether the result of a tool may hold images and files. With `text` they follow in a user
   * message.
   */
  readonly toolResults: 'parts' | 'text';
  /** The member in which the thinking of past turns is sent back, if it is sent at all. */
  readonly thinking: 'thinking_blocks' | 'reasoning_content' | 'dropped';
  /**
   * Whether to send `cache_control` on parts, messages, calls and tools, which some gateways read.
   */
  readonly cacheControl: 'carried' | 'dropped';
  /** The most stop sequences that the upstream accepts. Default: 4, OpenAI's limit. */
  readonly maxStopSequences?: number;
}
