/** The names of accounts and keys, by their ids. */

import { useResource } from '../shared/resource.js';
import { call } from './session.js';

/** Names of accounts and keys beyond these are not known; their ids are shown. */
const NAMES = 1_000;

export function useNames(): {
  readonly account: ReadonlyMap<string, string>;
  readonly key: ReadonlyMap<string, string>;
} {
  const once = { isLive: false };
  const accounts = useResource(
    'names of accounts',
    (signal) => call('GET /admin/accounts', { query: { limit: NAMES }, signal }),
    once,
  );
  const keys = useResource(
    'names of keys',
    (signal) => call('GET /admin/keys', { query: { limit: NAMES }, signal }),
    once,
  );
  return {
    account: new Map(accounts.value?.data.map(({ id, name }) => [id, name])),
    key: new Map(keys.value?.data.map(({ id, name }) => [id, name])),
  };
}
