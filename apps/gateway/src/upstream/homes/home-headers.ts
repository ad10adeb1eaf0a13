/** Where a home is, and the headers that it wants. */

import type { AnthropicTarget } from '../../config/upstream-target.js';

/** The version of the API in which the gateway asks its own questions. */
export const API_VERSION = '2023-06-01';

/** @param url - Base address, with or without `/v1`. The returned prefix has no `/v1`. */
export function addressOf(url: string): { readonly origin: string; readonly prefix: string } {
  const { origin, pathname } = new URL(url);
  return { origin, prefix: pathname.replace(/\/+$/, '').replace(/\/v1$/, '') };
}

/** The headers of a request to a home, without the credential. */
export function headersOf(
  { headers: own, version, versionIn }: AnthropicTarget,
  {
    'anthropic-version': versionOfClient = '',
    'anthropic-beta': betas,
    ...others
  }: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (versionIn === 'body') return { ...others, ...own };
  return {
    ...others,
    'anthropic-version': version ?? versionOfClient,
    ...(betas === undefined ? undefined : { 'anthropic-beta': betas }),
    ...own,
  };
}
