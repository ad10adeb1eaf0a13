/**
 * The session of the person who uses the page. The credential is a key, or the token of a read-only
 * link. It is sent as a Bearer token and kept in memory. If the person asks for it, the key is also
 * kept in the storage of the tab. The page never puts it into an address.
 */

import { computed, signal } from '@preact/signals';
import { send } from '../shared/api.js';
import type { Answer, Call } from '../shared/api.js';
import { callingEndpoints } from '../shared/endpoints.js';
import type { ClientCalls } from '../shared/gateway-types.js';
import { isHintOf } from '../shared/key-parts.js';
import { forgetPaying } from './paying.js';
import { keep, readKept } from './tab-storage.js';

const STORED = 'gateway-key';
const LINK = /^#link=(.*)$/;
const LINK_PREFIX = 'gl_';
const NO_LINK =
  'The address that you opened is not a read-only link, and was not used. Sign in with a key of your own, or ask for a link that begins with gl_.';

const credential = signal<string | undefined>(undefined);

export const isSignedIn = computed(() => credential.value !== undefined);
/** Whether a read-only link was opened. It shows the same figures but cannot change anything. */
export const isLink = computed(() => credential.value?.startsWith(LINK_PREFIX) ?? false);
/** Whether the tab keeps the key, so that it survives a visit to the payment page. */
export const isKeptForTab = signal(false);
/** Why the person has to sign in again. */
export const signInMessage = signal<string | undefined>(undefined);

/** Finds the key of this tab, or the opened link. Call it once, before anything renders. */
export function restoreSession(): void {
  const opened = LINK.exec(location.hash)?.[1];
  if (opened !== undefined) {
    // Removes the token from the address, so that it is neither in the history nor in a screenshot.
    history.replaceState(null, '', location.pathname);
    if (opened.startsWith(LINK_PREFIX)) {
      credential.value = opened;
      return;
    }
    // A key would give the visitor all rights of its account, and whoever sent the link could make
    // the visitor pay for that account.
    signInMessage.value = NO_LINK;
    return;
  }
  credential.value = readKept(STORED);
  isKeptForTab.value = credential.value !== undefined;
}

// If a link is opened in a tab that already shows this page, the browser does not load the page
// again. This reload makes sure that nothing of the previous session stays on the screen.
addEventListener('hashchange', () => {
  if (LINK.test(location.hash)) location.reload();
});

/** Printable ASCII. Other text, such as a hint with its `…`, cannot be sent in a header. */
const SENDABLE = /^[\x21-\x7e]+$/;

/** Keeps the key only if the gateway accepts it. */
export async function signIn(
  key: string,
  options: { readonly keepForTab: boolean },
): Promise<Answer<unknown>> {
  if (!SENDABLE.test(key)) {
    return { ok: false, failure: { kind: 'unauthorized', message: 'this is not a key' } };
  }
  const callWithKey = callingEndpoints<ClientCalls>((path, given) => sendAs(key, path, given));
  const answer = await callWithKey('GET /v1/dashboard/balance', {});
  if (answer.ok) {
    signInMessage.value = undefined;
    credential.value = key;
    keepForTab(options.keepForTab);
  }
  return answer;
}

/** Keeps the key for this tab, or only in memory from now on. */
export function keepForTab(isKept: boolean): void {
  isKeptForTab.value = keep(STORED, isKept ? credential.peek() : undefined);
}

/** Whether a hint is that of the key with which the person signed in. */
export function isOwnHint(hint: string): boolean {
  const key = keyForSettings();
  return key !== undefined && isHintOf(hint, key);
}

/** Goes on with the new credential of the same key. */
export function replaceKey(key: string): void {
  credential.value = key;
  keepForTab(isKeptForTab.peek());
}

export function signOut(message?: string): void {
  credential.value = undefined;
  keepForTab(false);
  forgetPaying();
  signInMessage.value = message;
  location.hash = '';
}

/** Calls the gateway with the key or the link. */
export const call = callingEndpoints<ClientCalls>((path, given) =>
  sendAs(credential.peek(), path, given),
);

/** The gateway's address without `/v1`: the folder above the page, also behind a proxy. */
export const gatewayUrl = new URL('..', location.href.split(/[?#]/)[0]).href.replace(/\/$/, '');

/** Reads the gateway's description of itself, which needs no key. */
export function describeGateway(signal: AbortSignal) {
  const callOpenly = callingEndpoints<ClientCalls>((path, given) =>
    send(`${gatewayUrl}${path}`, { ...given, headers: { accept: 'application/json' } }),
  );
  return callOpenly('GET /', { signal });
}

/** The key that the page fills into settings. `undefined` for a link, which cannot spend. */
export function keyForSettings(): string | undefined {
  return isLink.peek() ? undefined : credential.peek();
}

async function sendAs(
  key: string | undefined,
  path: string,
  given: Call,
): Promise<Answer<unknown>> {
  const headers = { ...given.headers, authorization: `Bearer ${key ?? ''}` };
  const answer = await send(`${gatewayUrl}${path}`, { ...given, headers });
  const isOver = !answer.ok && answer.failure.kind === 'unauthorized';
  if (isOver && credential.peek() === key) {
    signOut('You are signed out, because this key or link does not work any more.');
  }
  return answer;
}
