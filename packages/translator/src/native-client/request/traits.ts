/** What one chat upstream accepts, as far as translation must respect it. */

import type { ChatEffort } from './chat-request.js';

export interface ChatTraits {
  /** The member that limits the answer; older servers know `max_tokens` only. */
  readonly maxTokens: 'max_completion_tokens' | 'max_tokens';
  /** Whether `temperature` and `top_p` may be sent. */
  readonly sampling: 'accepted' | 'refused';
  /** Levels of `reasoning_effort`; empty when the model has no such control. */
  readonly effort: readonly ChatEffort[];
  /**
   * What `file` parts may hold: PDF, as OpenAI takes it, or text and web addresses as well. Text that
   * may not be a file is sent as text; a PDF that may not be one is refused.
   */
  readonly files: 'any' | 'pdf' | 'none';
  /**
   * Whether the result of a tool may hold images and files. Where it may hold `text` only, they follow
   * in a user message.
   */
  readonly toolResults: 'parts' | 'text';
  /** How the thinking of past turns is sent back, if at all. */
  readonly thinking: 'thinking_blocks' | 'reasoning_content' | 'dropped';
  /** Whether `cache_control` is sent on parts, messages, calls and tools, as some gateways read it. */
  readonly cacheControl: 'carried' | 'dropped';
}
