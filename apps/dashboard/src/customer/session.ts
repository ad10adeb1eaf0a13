/**
 * The session of the person who uses the page: a key or a read-only link is exchanged for a cookie
 * that scripts cannot read. The page stores neither, and never puts the key into an address.
 */

import { computed, signal } from '@preact/signals';
import { send } from '../shared/api/api.js';
import type { Answer, Call, Failure } from '../shared/api/api.js';
import { callingEndpoints } from '../shared/api/endpoints.js';
import type { ClientCalls, Sent } from '../shared/api/gateway-types.js';
import { forgetPaying } from './paying.js';

const LINK = /^#(link|key)=(.*)$/;
const LINK_PREFIX = 'gl_';
const NO_LINK =
  'The address that you opened is not a read-only link, and was not used. Sign in with a key of your own, or ask for a link that begins with gl_.';
const ENDED =
  'You are signed out: the session has ended, its key or link does not work any more, or this browser signed in with another key.';

type SessionState =
  | { readonly name: 'unknown' }
  /** `message`: why the person has to sign in again. */
  | { readonly name: 'signed out'; readonly message: string | undefined }
  /** A link that shows a key was opened, and the key was not asked for yet. */
  | { readonly name: 'key link'; readonly link: string }
  | { readonly name: 'signed in'; readonly keyId: string; readonly readsOnly: boolean };

export const session = signal<SessionState>({ name: 'unknown' });

/** Whether a read-only link was opened. It shows the same figures but cannot change anything. */
export const isLink = computed(() => session.value.name === 'signed in' && session.value.readsOnly);

/** The key as it was typed, until the page is loaded again. Only for settings of clients. */
let typedKey: string | undefined;

/**
 * Takes the token of a link out of the address, so that it is neither in the history nor in a
 * screenshot.
 */
const [, kind, token] = LINK.exec(location.hash) ?? [];
let opened = kind === 'link' ? token : undefined;
if (token !== undefined) history.replaceState(null, '', location.pathname);

// If a link is opened in a tab that already shows this page, the browser does not load the page
// again. This reload makes sure that nothing of the previous session stays on the screen.
addEventListener('hashchange', () => {
  if (LINK.test(location.hash)) location.reload();
});

/** Signs in with the opened link, or else asks whether the browser has a session. */
export async function restoreSession(): Promise<Answer<unknown>> {
  if (kind === 'key' && token !== undefined) {
    session.value = { name: 'key link', link: token };
    return { ok: true, value: undefined, text: '' };
  }
  // A key would give the visitor all rights of its account, and whoever sent the link could make
  // the visitor pay for that account.
  if (opened !== undefined && !opened.startsWith(LINK_PREFIX)) {
    opened = undefined;
    session.value = { name: 'signed out', message: NO_LINK };
    return { ok: true, value: undefined, text: '' };
  }
  const isOpened = opened !== undefined;
  const answer = isOpened
    ? await startSession(opened ?? '')
    : await callSession('GET /v1/dashboard/session', {});
  if (answer.ok) enter(answer.value);
  else if (answer.failure.kind !== 'unauthorized') return answer;
  else session.value = { name: 'signed out', message: isOpened ? ENDED : undefined };
  opened = undefined;
  return answer;
}

/** Printable ASCII. Other text, such as a hint with its `…`, cannot be sent in a header. */
const SENDABLE = /^[\x21-\x7e]+$/;

export async function signIn(key: string): Promise<Answer<unknown>> {
  if (!SENDABLE.test(key)) {
    return { ok: false, failure: { kind: 'unauthorized', message: 'this is not a key' } };
  }
  const answer = await startSession(key);
  if (answer.ok) {
    typedKey = key;
    enter(answer.value);
  }
  return answer;
}

function enter({ key_id: keyId, reads_only: readsOnly }: Sent<'pageSession'>): void {
  isReplacing = false;
  session.value = { name: 'signed in', keyId, readsOnly };
}

let isReplacing = false;

/**
 * Changes the credential of a key. If it is the key of the session, the session ends with the old
 * credential, and the page goes on with a session of the new one. Until it has that, refusals do
 * not sign the person out, who could otherwise not copy the new credential.
 *
 * @param change - Returns the new credential; `null` or `undefined` if there is none.
 */
export async function replacingKey<Value>(
  keyId: string,
  change: () => Promise<Answer<Value>>,
  credentialOf: (value: Value) => string | null,
): Promise<Answer<Value>> {
  const state = session.peek();
  if (state.name !== 'signed in' || state.keyId !== keyId) return change();
  isReplacing = true;
  const answer = await change();
  const credential = answer.ok ? credentialOf(answer.value) : null;
  if (credential === null) isReplacing = false;
  else await signIn(credential);
  return answer;
}

/** If this fails, the cookie may still be valid, so the page does not claim to be signed out. */
export async function signOut(): Promise<Failure | undefined> {
  const answer = await callSession('DELETE /v1/dashboard/session', {});
  if (!answer.ok && answer.failure.kind !== 'unauthorized') return answer.failure;
  leave(undefined);
  return undefined;
}

function leave(message: string | undefined): void {
  typedKey = undefined;
  isReplacing = false;
  forgetPaying();
  session.value = { name: 'signed out', message };
  location.hash = '';
}

/** Asks for the key of a link. The first time, the gateway makes it; there is no second time. */
export async function openKeyLink(link: string): Promise<Answer<Sent<'openedKeyLink'>>> {
  if (!SENDABLE.test(link)) {
    return { ok: false, failure: { kind: 'unauthorized', message: 'this is not a link' } };
  }
  const callWith = callingEndpoints<ClientCalls>((path, given) =>
    send(`${gatewayUrl}${path}`, { ...given, headers: { authorization: `Bearer ${link}` } }),
  );
  return callWith('POST /v1/dashboard/key-link', {});
}

/** Calls the gateway with the session. */
export const call = callingEndpoints<ClientCalls>(async (path, given) => {
  const asked = session.peek();
  const answer = await sendInSession(path, given);
  const isOver = !answer.ok && answer.failure.kind === 'unauthorized';
  if (isOver && session.peek() === asked && !isReplacing) leave(ENDED);
  return answer;
});

/** The gateway's address without `/v1`: the folder above the page, also behind a proxy. */
export const gatewayUrl = new URL('..', location.href.split(/[?#]/)[0]).href.replace(/\/$/, '');

/** Reads the gateway's description of itself, which needs no key. */
export function describeGateway(signal: AbortSignal) {
  const callOpenly = callingEndpoints<ClientCalls>((path, given) =>
    send(`${gatewayUrl}${path}`, { ...given, headers: { accept: 'application/json' } }),
  );
  return callOpenly('GET /', { signal });
}

/** The key that the page fills into settings. `undefined` for a link, and after a reload. */
export function keyForSettings(): string | undefined {
  return typedKey;
}

const callSession = callingEndpoints<ClientCalls>(sendInSession);

function startSession(credential: string): Promise<Answer<Sent<'pageSession'>>> {
  const callWith = callingEndpoints<ClientCalls>((path, given) =>
    send(`${gatewayUrl}${path}`, { ...given, headers: { authorization: `Bearer ${credential}` } }),
  );
  return callWith('POST /v1/dashboard/session', {});
}

/** The header names the key that the page shows, so that it never shows data of another one. */
function sendInSession(path: string, given: Call): Promise<Answer<unknown>> {
  const state = session.peek();
  const shown = state.name === 'signed in' ? state.keyId : 'any';
  const headers = { ...given.headers, 'x-gateway-session': shown };
  return send(`${gatewayUrl}${path}`, { ...given, headers });
}
