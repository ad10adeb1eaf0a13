/**
 * The operator's session: an admin token is exchanged for a cookie that scripts cannot read, so the
 * page keeps no secret.
 */

import { signal } from '@preact/signals';
import { send } from '../shared/api.js';
import type { Answer, Call } from '../shared/api.js';

export type Right = 'read' | 'credit' | 'change';

export interface Operator {
  /** Of the token. */
  readonly name: string;
  readonly may: readonly Right[];
  readonly expires_at: string;
}

export type SessionState =
  | { readonly name: 'unknown' }
  | { readonly name: 'signed out'; readonly message: string | undefined }
  | { readonly name: 'signed in'; readonly operator: Operator };

export const session = signal<SessionState>({ name: 'unknown' });

const ROOT = new URL('..', location.href.split(/[?#]/)[0]).href;
const SESSION = `${ROOT}console/session`;

/** Asks whether the browser has a session. */
export async function restoreSession(): Promise<Answer<Operator>> {
  const answer = await send<Operator>(SESSION);
  if (answer.ok) session.value = { name: 'signed in', operator: answer.value };
  else if (answer.failure.kind === 'unauthorized') {
    session.value = { name: 'signed out', message: undefined };
  }
  return answer;
}

export async function signIn(token: string): Promise<Answer<Operator>> {
  const answer = await send<Operator>(SESSION, { method: 'POST', body: { token } });
  if (answer.ok) session.value = { name: 'signed in', operator: answer.value };
  return answer;
}

export async function signOut(): Promise<void> {
  await send(SESSION, { method: 'DELETE' });
  session.value = { name: 'signed out', message: undefined };
}

/** Whether the operator may do something. Without the right, its buttons are not shown. */
export function may(right: Right): boolean {
  return session.value.name === 'signed in' && session.value.operator.may.includes(right);
}

/** Calls the admin API. */
export async function call<Value>(path: string, given: Call = {}): Promise<Answer<Value>> {
  const answer = await send<Value>(`${ROOT}admin/${path}`, given);
  if (!answer.ok && answer.failure.kind === 'unauthorized') {
    session.value = { name: 'signed out', message: 'Your session has ended. Sign in again.' };
  }
  return answer;
}
