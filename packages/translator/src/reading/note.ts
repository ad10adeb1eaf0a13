/** Reports a part of the request that the translation could not carry over unchanged. */
export interface Note {
  /** The path in the client's request, such as `messages[2].content[0].image_url.detail`. */
  readonly path: string;
  readonly reason: 'ignored' | 'dropped' | 'capped' | 'rewritten';
  readonly detail: string;
}

/** The values of `error.code` that OpenAI uses for bad requests. */
export type ProblemCode =
  | ('missing_required_parameter' | 'invalid_type' | 'invalid_value' | 'unsupported_value')
  | 'previous_response_not_found';

/** The client error for a request that cannot be translated. It names the field. */
export interface RequestProblem {
  readonly message: string;
  /** The path of the field at fault; null when the body as a whole is at fault. */
  readonly param: string | null;
  readonly code: ProblemCode;
}
