/** What the person needs who gets a new key: an address, a command and a page. */

import { CUSTOMER_PAGE } from '../http/pages/addresses.js';
import { painted } from './screen.js';
import type { Screen } from './screen.js';
import { pairs } from './table.js';

const UNKNOWN = 'https://<address of the gateway>';

/** @param address - `undefined` if it is not known: the gateway has no `PUBLIC_URL`. */
export function handOver(
  key: { readonly id: string; readonly api_key: string },
  address: string | undefined,
  screen: Screen,
): string {
  const url = address?.replace(/\/+$/, '') ?? UNKNOWN;
  return [
    painted('bold', 'To hand on', screen),
    pairs({
      'Claude Code': `ANTHROPIC_BASE_URL=${url} ANTHROPIC_AUTH_TOKEN=${key.api_key} claude`,
      'OpenAI SDKs': `OPENAI_BASE_URL=${url}/v1 OPENAI_API_KEY=${key.api_key}`,
      page: `${url}${CUSTOMER_PAGE}/ (sign in with the key: usage, balance, how to connect others)`,
      'as a link': `farthing keys key-link ${key.id} (shows a new credential once, so that no mail has it)`,
    }),
  ].join('\n');
}
