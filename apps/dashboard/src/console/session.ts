/**
 * The operator's session: an admin token is exchanged for a cookie that scripts cannot read, so the
 * page keeps no secret.
 */

import { signal } from '@preact/signals';
import { send } from '../shared/api/api.js';
import type { Answer, Call, Failure } from '../shared/api/api.js';
import { callingEndpoints } from '../shared/api/endpoints.js';
import type { AdminCalls, Sent } from '../shared/api/gateway-types.js';

type Operator = Sent<'consoleSession'>;
export type Right = Operator['may'][number];

export type SessionState =
  | { readonly name: 'unknown' }
  | { readonly name: 'signed out'; readonly message: string | undefined }
  | { readonly name: 'signed in'; readonly operator: Operator };

export const session = signal<SessionState>({ name: 'unknown' });

/** The page is one folder below the endpoints, also behind a proxy that adds a path. */
const ROOT = new URL('..', location.href.split(/[?#]/)[0]).href.replace(/\/$/, '');

/** The address of an endpoint of the admin API, for links. */
export function addressOf(path: string): string {
  return `${ROOT}${path}`;
}

const sendTo = (path: string, given: Call) => send(addressOf(path), given);
const callSession = callingEndpoints<AdminCalls>(sendTo);

const LINK = /^#link=(.+)$/;

/**
 * Takes the code of a link that signs in once out of the address, so that it is neither in the
 * history nor in a screenshot. Call it once, before anything renders.
 */
let code = LINK.exec(location.hash)?.[1];
if (code !== undefined) history.replaceState(null, '', location.pathname);

// A link that is opened in a tab that already shows this page does not load the page again.
addEventListener('hashchange', () => {
  if (LINK.test(location.hash)) location.reload();
});

/** Signs in with the opened link, or else asks whether the browser has a session. */
export async function restoreSession(): Promise<Answer<Operator>> {
  const opened = code;
  if (opened === undefined) return findSession(undefined);
  const answer = await callSession('POST /console/link', { body: { code: opened } });
  if (answer.ok) {
    code = undefined;
    session.value = { name: 'signed in', operator: answer.value };
    return answer;
  }
  // The link was not used, for example because the gateway could not be reached: try again.
  if (answer.failure.kind !== 'unauthorized' && answer.failure.kind !== 'refused') return answer;
  code = undefined;
  // Whoever opens its link a second time, in the same browser, may still be signed in.
  return findSession(`${sentenceOf(answer.failure.message)} ${OTHER_WAYS}`);
}

/** An error of the gateway without the name of the field, as a sentence. */
function sentenceOf(message: string): string {
  const text = message.replace(/^[a-z]+: /, '');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

const OTHER_WAYS =
  'On the machine of the gateway, "farthing console-link" makes another link. Or sign in with an admin token.';

/** @param message - Says why the person has to sign in, if there is no session. */
async function findSession(message: string | undefined): Promise<Answer<Operator>> {
  const answer = await callSession('GET /console/session', {});
  if (answer.ok) session.value = { name: 'signed in', operator: answer.value };
  else if (answer.failure.kind === 'unauthorized') {
    session.value = { name: 'signed out', message };
  }
  return answer;
}

export async function signIn(token: string): Promise<Answer<Operator>> {
  const answer = await callSession('POST /console/session', { body: { token } });
  if (answer.ok) session.value = { name: 'signed in', operator: answer.value };
  return answer;
}

/** If this fails, the cookie may still be valid, so the page does not claim to be signed out. */
export async function signOut(): Promise<Failure | undefined> {
  const answer = await callSession('DELETE /console/session', {});
  if (!answer.ok && answer.failure.kind !== 'unauthorized') return answer.failure;
  session.value = { name: 'signed out', message: undefined };
  return undefined;
}

/** Whether the operator has a right. Without it, the buttons that need it are not shown. */
export function may(right: Right): boolean {
  return session.value.name === 'signed in' && session.value.operator.may.includes(right);
}

/** Calls the admin API. */
export const call = callingEndpoints<AdminCalls>(async (path, given) => {
  const answer = await sendTo(path, given);
  if (!answer.ok && answer.failure.kind === 'unauthorized') {
    session.value = { name: 'signed out', message: 'Your session has ended. Sign in again.' };
  }
  return answer;
});
