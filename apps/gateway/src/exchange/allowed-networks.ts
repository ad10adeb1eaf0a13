/**
 * The networks from which a key may be used. They hold for everything that is done with the key: by
 * its credential, and by sessions and links that stand for it.
 */

import ipaddr from 'ipaddr.js';
import type { KeyRecord } from '@gateway/balance-store';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';

type Networks = readonly (readonly [address: ipaddr.IPv4 | ipaddr.IPv6, prefix: number])[];

/** Of the lists of keys in memory, so that a list is read once and not for each request. */
const known = new WeakMap<readonly string[], Networks>();

/**
 * @param address - As the socket or a trusted proxy names the client.
 * @returns the refusal of a client elsewhere; `undefined` if the key may be used from there
 */
export function checkNetwork(
  { allowedNetworks }: Pick<KeyRecord, 'allowedNetworks'>,
  address: string | undefined,
): Refusal | undefined {
  if (allowedNetworks === null) return undefined;
  // A dual-stack socket reports an IPv4 client as an IPv4-mapped address: `::ffff:192.0.2.1`.
  const client =
    address !== undefined && ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
  const isInside = networksOf(allowedNetworks).some(
    ([network, prefix]) =>
      client !== undefined &&
      client.kind() === network.kind() &&
      client.match([network, prefix] as [typeof client, number]),
  );
  if (isInside) return undefined;
  return newRefusal('network_not_allowed', { address: client?.toString() ?? 'an unknown address' });
}

function networksOf(texts: readonly string[]): Networks {
  const before = known.get(texts);
  if (before !== undefined) return before;
  const networks = texts.map((text) => ipaddr.parseCIDR(text));
  known.set(texts, networks);
  return networks;
}
