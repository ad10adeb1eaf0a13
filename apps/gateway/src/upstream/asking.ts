/** Questions to an upstream that cost nothing: whether it takes the credential, and its models. */

import { request } from 'undici';
import type { Dispatcher } from 'undici';
import { errorCode } from '../base/error-code.js';

export interface Asking {
  readonly dispatcher: Dispatcher;
  readonly deadline: { readonly ms: number; readonly signal: AbortSignal };
}

/** What an upstream said about its credential and about the models that are configured for it. */
export interface UpstreamCheck {
  /** `unclear`: the upstream could not be reached, or its answer says something else. */
  readonly outcome: 'accepted' | 'refused' | 'unclear';
  /** Continues the sentence "The upstream …"; `undefined` if the credential is accepted. */
  readonly reason: string | undefined;
  /** Of an accepted credential, what else the upstream said; `undefined` if it was not asked. */
  readonly found?: string | undefined;
  /** Sentences about models that it does not serve under their configured names. */
  readonly missing?: readonly string[] | undefined;
}

/** Either an answer, or why there is none. */
export type Answer =
  | { readonly status: number; readonly text: string }
  /** `isDenied`: there is no credential to ask with. */
  | { readonly reason: string; readonly isDenied?: true };

export interface Question extends Pick<Dispatcher.RequestOptions, 'headers' | 'body'> {
  readonly method?: 'POST';
}

export async function ask(
  address: URL,
  question: Question,
  { dispatcher, deadline }: Asking,
): Promise<Answer> {
  try {
    const { statusCode, body } = await request(address, {
      ...question,
      dispatcher,
      signal: deadline.signal,
    });
    return { status: statusCode, text: await body.text() };
  } catch (error) {
    if (deadline.signal.aborted) {
      return { reason: `it did not answer within ${String(deadline.ms / 1000)} seconds` };
    }
    // Without the text of the error, which may have the address of a proxy with its password.
    return {
      reason: `its response could not be received (${errorCode(error) ?? 'unknown error'})`,
    };
  }
}

/** Why an answer is no success. */
export function reasonOf(answer: Answer): string {
  return 'reason' in answer ? answer.reason : `it answered with status ${String(answer.status)}`;
}
