/**
 * Texts that the translation adds to the end of a conversation, right before the model's answer.
 *
 * The signature of a thinking block is bound to everything before the block, so the next request
 * has to repeat these texts. Nothing is stored: the client carries them. They are members of the
 * first thinking block of the answer, which clients send back unchanged.
 * https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
 */
export interface Additions {
  /** The text of a user turn that follows an answer, because the native format requires one. */
  readonly added_user?: string | undefined;
  /** Instructions for the answer, as a message of role `system`. */
  readonly added_system?: string | undefined;
  /**
   * The effort of the request. Later requests keep it, because another one would void the cached
   * prefix. An answer with another effort has {@link Additions.added_effort}.
   */
  readonly first_effort?: string | undefined;
  /** The effort for the answer, which is in a message of role `system`. */
  readonly added_effort?: string | undefined;
}
