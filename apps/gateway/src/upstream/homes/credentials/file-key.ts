/**
 * The key of a home. If it came from a file, the file is looked at again while the gateway
 * serves: tools that renew short-lived keys, such as those of Bedrock, replace the file.
 */

import { readFileSync, statSync } from 'node:fs';
import { reasonOf } from '../../../base/error-code.js';
import { API_KEY_FORM, API_KEY_PROBLEM } from '../../../config/upstream-target.js';
import type { AnthropicTarget } from '../../../config/upstream-target.js';
import type { CredentialOptions } from './credential.js';

/**
 * How often the file is looked at, at most: by the first request after this time. That takes 10 µs.
 * A timer would keep the credentials of every earlier configuration alive.
 */
const CHECK_EVERY_MS = 1_000;

/** @returns a function that returns the credential to send now */
export function openKey(
  { apiKey, apiKeyFile }: Pick<AnthropicTarget, 'apiKey' | 'apiKeyFile'>,
  { now, onProblem }: Pick<CredentialOptions, 'now' | 'onProblem'>,
): () => string {
  if (apiKey === undefined) throw new Error('a home needs a credential');
  if (apiKeyFile === undefined) return () => apiKey;
  const file = apiKeyFile;
  let credential = apiKey;
  let lookedAt = -Infinity;
  /** Of the file, when it was read last. */
  let state: string | undefined;

  function look(): void {
    try {
      const { ino, size, mtimeMs } = statSync(file);
      const next = `${String(ino)} ${String(size)} ${String(mtimeMs)}`;
      if (next === state) return;
      state = next;
      const text = readFileSync(file, 'utf8').trim();
      if (API_KEY_FORM.test(text)) credential = text;
      else onProblem(text === '' ? 'is empty' : API_KEY_PROBLEM);
    } catch (error) {
      const next = reasonOf(error);
      if (next === state) return;
      state = next;
      onProblem(next);
    }
  }

  return () => {
    const at = now();
    if (at - lookedAt >= CHECK_EVERY_MS) {
      lookedAt = at;
      look();
    }
    return credential;
  };
}
