/** Raises errors of the catalogue. Every error response of the gateway itself is one of them. */

import { CATALOGUE } from './catalogue.js';
import type { Catalogue, ErrorName } from './catalogue.js';
import type { ErrorEntry } from './entry.js';

declare const raised: unique symbol;

/**
 * An error response of the gateway. Only {@link newRefusal} and {@link relayed} make one, so an
 * error that the catalogue lacks does not compile.
 */
export interface Refusal {
  readonly [raised]: true;
  readonly status: number;
  readonly type: string;
  readonly message: string;
  /** Path of the field at fault, for clients of OpenAI's formats. */
  readonly param?: string | null;
  readonly code?: string | null;
  /** One of the provider's stable codes, on which its SDKs act. */
  readonly errorCode?: string;
  readonly retryAfterSeconds?: number;
  /** The internal cause, for the operator's log. It is not sent to the client. */
  readonly fault?: string;
  /** Whether SDKs should try again. Without it, the SDK decides by the status. */
  readonly shouldRetry?: boolean;
}

type ValueNames<Sentence extends string> = Sentence extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ValueNames<Rest>
  : never;

interface Optional {
  readonly param?: string | null;
  readonly fault?: string;
}

/** The values of an entry's sentence, and how long to wait if that is not always the same. */
type Details<Name extends ErrorName> = Optional & {
  readonly [Value in ValueNames<Catalogue[Name]['sentence']>]: string | number;
} & (Catalogue[Name]['retry'] extends 'wait' ? { readonly retryAfterSeconds: number } : unknown);

type DetailsOf<Name extends ErrorName> =
  Optional extends Details<Name> ? [details?: Details<Name>] : [details: Details<Name>];

export function newRefusal<Name extends ErrorName>(
  name: Name,
  ...[details]: DetailsOf<Name>
): Refusal {
  const { cause: _cause, cure: _cure, sentence, retry, ...entry }: ErrorEntry = CATALOGUE[name];
  const { param, fault, retryAfterSeconds, ...values }: Given = details ?? {};
  return made({
    ...entry,
    message: filled(sentence, { param, ...values }),
    ...(param === undefined ? {} : { param }),
    ...(fault === undefined ? {} : { fault }),
    ...retryOf(entry.status, retry, retryAfterSeconds),
  });
}

/** An error of the upstream, or of another gateway's admin port, as it came. */
export function relayed(error: Omit<Refusal, typeof raised>): Refusal {
  return made(isFinal(error.status) ? { shouldRetry: false, ...error } : error);
}

/** Whether the same request would get the same answer again. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 409, 429].includes(status);
}

interface Given {
  readonly param?: string | null | undefined;
  readonly fault?: string;
  readonly retryAfterSeconds?: number;
  readonly [value: string]: string | number | null | undefined;
}

/** The brand exists for the type checker only. */
function made(error: Omit<Refusal, typeof raised>): Refusal {
  return error as Refusal;
}

function filled(sentence: string, values: Given): string {
  return sentence.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
}

function retryOf(
  status: number,
  retry: ErrorEntry['retry'],
  retryAfterSeconds: number | undefined,
): Pick<Refusal, 'shouldRetry' | 'retryAfterSeconds'> {
  switch (retry) {
    case 'no':
      return { shouldRetry: false };
    case 'wait':
      return retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
    case 'changed':
    case 'yes':
      return {};
    default:
      return {
        retryAfterSeconds: retry,
        ...(isFinal(status) ? { shouldRetry: true } : {}),
      };
  }
}
