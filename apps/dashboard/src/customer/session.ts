/**
 * Who looks at the page. The key, or the token of a read-only link, is the log-in: it is sent as a
 * Bearer token and kept in memory, and for this tab if the person asks for it. It is never in an
 * address.
 */

import { computed, signal } from '@preact/signals';
import { send } from '../shared/api.js';
import type { Answer, Call } from '../shared/api.js';
import { forgetPaying } from './paying.js';

const STORED = 'gateway-key';
const LINK = /^#link=([\w.-]+)$/;
const LINK_PREFIX = 'gl_';

const credential = signal<string | undefined>(undefined);

export const isSignedIn = computed(() => credential.value !== undefined);
/** Whether a read-only link was opened: it shows the same figures and can change nothing. */
export const isLink = computed(() => credential.value?.startsWith(LINK_PREFIX) ?? false);
/** Whether the key is kept for this tab: then it is still there after the provider's page. */
export const isKeptForTab = signal(false);
/** Why the person has to sign in again. */
export const signInMessage = signal<string | undefined>(undefined);

/** Finds the key of this tab, or the opened link. Call it once, before anything renders. */
export function restoreSession(): void {
  const opened = LINK.exec(location.hash)?.[1];
  if (opened === undefined) {
    credential.value = sessionStorage.getItem(STORED) ?? undefined;
    isKeptForTab.value = credential.value !== undefined;
    return;
  }
  // So that it is neither in the history nor in a screenshot.
  history.replaceState(null, '', location.pathname);
  credential.value = opened;
}

/** Tries the key before it is kept. */
export async function signIn(key: string, options: { readonly keepForTab: boolean }) {
  const answer = await get('balance', {}, key);
  if (answer.ok) {
    signInMessage.value = undefined;
    credential.value = key;
    keepForTab(options.keepForTab);
  }
  return answer;
}

/** Keeps the key for this tab, or only in memory from now on. */
export function keepForTab(isKept: boolean): void {
  if (isKept) sessionStorage.setItem(STORED, credential.peek() ?? '');
  else sessionStorage.removeItem(STORED);
  isKeptForTab.value = isKept;
}

export function signOut(message?: string): void {
  credential.value = undefined;
  keepForTab(false);
  forgetPaying();
  signInMessage.value = message;
  location.hash = '';
}

/** Reads below `/v1/dashboard/`. */
export function get<Value>(
  path: string,
  call: Pick<Call, 'query' | 'signal'> = {},
  key = credential.peek(),
): Promise<Answer<Value>> {
  return callGateway(`v1/dashboard/${path}`, call, key);
}

/** Changes something below `/v1/dashboard/`. */
export function change<Value>(
  path: string,
  call: Pick<Call, 'method' | 'body' | 'headers'>,
): Promise<Answer<Value>> {
  return callGateway(`v1/dashboard/${path}`, { method: 'POST', ...call }, credential.peek());
}

/** The gateway's address without `/v1`. The page is one folder below, also behind a proxy. */
export const gatewayUrl = new URL('..', location.href.split(/[?#]/)[0]).href.replace(/\/$/, '');

/** What the gateway says of itself, to anyone. */
export function describeGateway(call: Pick<Call, 'signal'>) {
  return send<{ readonly top_up_url?: string }>(`${gatewayUrl}/`, {
    ...call,
    headers: { accept: 'application/json' },
  });
}

/** For the settings that the page can fill in. `undefined` for a link, which cannot spend. */
export function keyForSettings(): string | undefined {
  return isLink.peek() ? undefined : credential.peek();
}

async function callGateway<Value>(
  path: string,
  call: Call,
  key: string | undefined,
): Promise<Answer<Value>> {
  const headers = { ...call.headers, authorization: `Bearer ${key ?? ''}` };
  const answer = await send<Value>(`${gatewayUrl}/${path}`, { ...call, headers });
  const isOver = !answer.ok && answer.failure.kind === 'unauthorized';
  if (isOver && credential.peek() === key) {
    signOut('You are signed out, because this key or link does not work any more.');
  }
  return answer;
}
