/** The facts about a native request that the translation of its answer needs. */
export interface MessageContext {
  /** The model as the client wrote it, echoed in the message. */
  readonly model: string;
  /**
   * The stop sequences of the request. They identify the sequence that ended the message, if the
   * upstream names it.
   */
  readonly stopSequences: readonly string[];
  /** The client's names of tools that have shorter names upstream, by these names. */
  readonly toolNames?: ReadonlyMap<string, string>;
}

/** The client's name of a tool that the upstream calls. */
export function clientToolName({ toolNames }: MessageContext, name: string): string {
  return toolNames?.get(name) ?? name;
}
