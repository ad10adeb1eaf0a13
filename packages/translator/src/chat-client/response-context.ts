/** What the answer must know of the chat request it belongs to. */
export interface ResponseContext {
  /** The model as the client wrote it, echoed in the completion and in every chunk. */
  readonly model: string;
  /**
   * Whether a stream was asked (`stream_options.include_usage`) to carry usage in a chunk of its
   * own.
   */
  readonly includeUsage: boolean;
  /** Whether tools came as `functions`: calls then go back as `function_call`. */
  readonly legacyFunctions: boolean;
}
