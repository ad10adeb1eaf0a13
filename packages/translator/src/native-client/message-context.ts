/** What the translation of an answer must know of its request. */
export interface MessageContext {
  /** The model as the client wrote it, echoed in the message. */
  readonly model: string;
  /** The native request's own, to tell which one ended the message where the upstream says so. */
  readonly stopSequences: readonly string[];
}
