/** The facts about a native request that the translation of its answer needs. */
export interface MessageContext {
  /** The model as the client wrote it, echoed in the message. */
  readonly model: string;
  /**
   * The stop sequences of the request. They identify the sequence that ended the message, if the
   * upstream names it.
   */
  readonly stopSequences: readonly string[];
}
