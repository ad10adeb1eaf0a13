/**
 * The responses that are kept for a while, so that a request of the Responses API can continue one
 * (`previous_response_id`) or refer to its items. Many SDKs do so by default.
 *
 * A response belongs to the key that made it, and only that key can read it: the keys of an account
 * can belong to different people. It is kept for the configured time after its last use, unless it
 * has to make room for others (see {@link ResponseMemory.remember}). There are
 * two implementations: in the memory of one process, and in Redis. Both pass the suite in
 * `test/support/response-memory-suite.ts`.
 */

export interface ResponseOwner {
  readonly accountId: string;
  readonly keyId: string;
}

export interface KeptResponse {
  /** JSON text of an object whose member `items` has the conversation that the response ended. */
  readonly conversation: Uint8Array;
  /** JSON text of the response, with its output. */
  readonly response: Uint8Array;
}

/** The lengths of the texts of a {@link KeptResponse}. */
export type KeptBytes = { readonly [Text in keyof KeptResponse]: number };

/**
 * Each function rejects if the memory cannot be reached. A client chooses the ids, so a function
 * takes all of a request together, in one call to where they are kept.
 */
export interface ResponseMemory {
  /**
   * Keeps a response. If there is too little memory, the account that would have the most forgets
   * its least recently used responses. So an account that has no more than its equal part loses
   * nothing, whatever others do.
   *
   * @returns `no_room` if the response alone is more than half of the memory, or more than any
   * other account has: nothing is kept then
   */
  remember(owner: ResponseOwner, id: string, kept: KeptResponse): Promise<'kept' | 'no_room'>;
  /**
   * For reserving memory before the texts are read.
   *
   * @param needed - So many of the first ids are of no use without each other. The first of them
   * that is missing ends the list that is returned.
   * @returns for each id the bytes of both texts; `undefined` if this key has no such response
   */
  measure(
    owner: ResponseOwner,
    ids: readonly string[],
    needed?: number,
  ): Promise<readonly (KeptBytes | undefined)[]>;
  /**
   * @returns for each id the texts, whose time begins again; `undefined` if this key has no such
   * response
   */
  recall(
    owner: ResponseOwner,
    ids: readonly string[],
  ): Promise<readonly (KeptResponse | undefined)[]>;
  /** {@link recall} for callers that only need {@link KeptResponse.response}. */
  recallResponses(
    owner: ResponseOwner,
    ids: readonly string[],
  ): Promise<readonly (Uint8Array | undefined)[]>;
  /** @returns whether there was such a response of this key */
  forget(owner: ResponseOwner, id: string): Promise<boolean>;
  /** Forgets all responses of a key, or of an account if `keyId` is absent. */
  forgetAll(owner: Pick<ResponseOwner, 'accountId'> & Partial<ResponseOwner>): Promise<void>;
  close(): void;
}

/** Roughly the memory that a response takes beside its texts. */
const OVERHEAD_BYTES = 512;

/** What a response counts towards the limits. */
export function sizeOf({ conversation, response }: KeptResponse): number {
  return conversation.length + response.length + OVERHEAD_BYTES;
}
