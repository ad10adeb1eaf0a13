import type { Additions } from '../wire/additions.js';
import type { CalledAs } from '../wire/called-as.js';

/**
 * How thinking is returned. With `thinking_blocks`, it is returned as native blocks with their
 * signatures: a client that sends them back unchanged keeps the model's reasoning in tool loops.
 * With `reasoning_content`, its text is also sent while it is generated, in the member that most
 * clients read.
 */
export type ReasoningForm = 'thinking_blocks' | 'reasoning_content';

/** The facts about a chat request that the translation of its answer needs. */
export interface ResponseContext {
  /** The model as the client wrote it, echoed in the completion and in every chunk. */
  readonly model: string;
  /**
   * Whether the client asked for usage in a chunk of its own (`stream_options.include_usage`).
   */
  readonly includeUsage: boolean;
  /** Whether tools came as `functions`. Calls then go back as `function_call`. */
  readonly legacyFunctions: boolean;
  /**
   * Tools whose calls are returned to the client under another name, as another type or with other
   * names of their arguments, by their upstream name.
   */
  readonly tools?: ReadonlyMap<string, CalledAs> | undefined;
  /** Whether the model may search the web. The pages that it cites become `annotations`. */
  readonly annotations?: boolean | undefined;
  /** If absent, thinking is left out. */
  readonly reasoning?: ReasoningForm | undefined;
  /** What the translation added to the end of the conversation. */
  readonly additions?: Additions | undefined;
}
