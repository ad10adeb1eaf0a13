/** Something a translation could not carry over, told instead of lost. */
export interface Note {
  /** Path in the document that was translated, such as `messages[2].content[0].image_url.detail`. */
  readonly path: string;
  readonly reason: 'ignored' | 'dropped' | 'capped' | 'rewritten';
  readonly detail: string;
}

/** Why a request cannot be translated: a client error that names the field. */
export interface RequestProblem {
  readonly message: string;
  /** Path of the field at fault, or null when the body as a whole is. */
  readonly param: string | null;
  readonly code: string | null;
}
