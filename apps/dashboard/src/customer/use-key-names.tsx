/** The names of the keys of the account, by their ids, as far as the key may know them. */

import type { Sent } from '../shared/api/gateway-types.js';
import { Id } from '../shared/text/ids.js';
import { useResource } from '../shared/api/resource.js';
import { call } from './session.js';

/** An account has at most 100 keys that are not revoked; names of older ones may be missing. */
const LIMIT = 1_000;

/** @param isNeeded - Without it, only the name of the own key is known, and nothing is loaded. */
export function useKeyNames(
  { key }: Pick<Sent<'accountOverview'>, 'key'>,
  isNeeded: boolean,
): ReadonlyMap<string, string> {
  const asks = isNeeded && key.scope === 'manage';
  const list = useResource(`names of keys ${String(asks)}`, (signal) =>
    asks
      ? call('GET /v1/dashboard/keys', { query: { limit: LIMIT }, signal })
      : Promise.resolve(undefined),
  );
  const others = (list.value?.data ?? []).map(({ id, name }) => [id, name] as const);
  return new Map([[key.id, key.name], ...others]);
}

/** A key in a list: its name, with the id as a detail. */
export function KeyName(props: {
  readonly id: string | null;
  readonly names: ReadonlyMap<string, string>;
}) {
  const { id, names } = props;
  return id === null ? null : <span title={id}>{names.get(id) ?? <Id of={id} />}</span>;
}
