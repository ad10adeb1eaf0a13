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
}
