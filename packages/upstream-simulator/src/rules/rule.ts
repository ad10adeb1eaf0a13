/** What a rule gets to know about a request. */

import type { KnownModel } from '../models/known-model.js';
import type { JsonObject } from '../message/message.js';
import type { ErrorType } from '../message/script.js';

export interface RequestError {
  readonly type: ErrorType;
  readonly message: string;
}

export interface RuleContext {
  /** The request's `model`; empty if it is not a string. */
  readonly model: string;
  /** Undefined for a model that only the options of the simulator name: it refuses nothing. */
  readonly traits: KnownModel['traits'] | undefined;
  readonly models: ReadonlySet<string>;
  /** The value of the `anthropic-version` header. */
  readonly version: string;
  /** The values of the `anthropic-beta` header. */
  readonly betas: readonly string[];
  readonly endpoint: 'messages' | 'count_tokens';
}

/**
 * One reason of the API to refuse a request.
 *
 * @returns the text of an `invalid_request_error`, an error of another type, or `undefined` if the
 *   request obeys the rule
 */
export type Rule = (request: JsonObject, context: RuleContext) => string | RequestError | undefined;
