/** What the catalogue says about one error. */

/** The types of the native API's errors. OpenAI's formats have the same. */
export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'billing_error'
  | 'permission_error'
  | 'not_found_error'
  | 'conflict_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'timeout_error'
  | 'overloaded_error'
  | 'api_error';

/**
 * Whether the same request may succeed later, and what the answer says about it:
 *
 * - `no`: never, with `x-should-retry: false`
 * - `changed`: only once the state that it names has changed. SDKs repeat a 409 by themselves.
 * - `yes`: SDKs repeat it after a pause of their own
 * - `wait`, or a number of seconds: after the time in `retry-after`
 */
export type Retry = 'no' | 'changed' | 'yes' | 'wait' | number;

export interface ErrorEntry {
  readonly status: number;
  readonly type: ErrorType;
  /** `code` in OpenAI's formats, where it is null without. The native format has none. */
  readonly code?: string;
  /** `details.error_code`, on which the provider's SDKs act. */
  readonly errorCode?: string;
  /** `param` in OpenAI's formats, if it is always the same. */
  readonly param?: string;
  /** What the client reads. `{name}` stands for a value that is given when the error is raised. */
  readonly sentence: string;
  readonly cause: string;
  readonly cure: string;
  readonly retry: Retry;
}
