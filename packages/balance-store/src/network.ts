/** Networks from which a key may be used, such as `192.0.2.0/24` or `2001:db8::/32`. */

import { BlockList, isIP } from 'node:net';

interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** Whether each of the networks lies in one of the bounds. */
export function areNetworksWithin(networks: readonly string[], bounds: readonly string[]): boolean {
  return networks.every((network) => bounds.some((bound) => isWithin(network, bound)));
}

/** @throws {RangeError} The text is not an address, a slash and the length of a prefix. */
export function readNetwork(text: string): Network {
  const [address = '', length = ''] = text.split('/');
  const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
  const prefix = /^\d{1,3}$/.test(length) ? Number(length) : NaN;
  if (isIP(address) === 0 || !(prefix <= LONGEST[family]) || text !== `${address}/${length}`) {
    throw new RangeError(`"${text}" is not a network such as 192.0.2.0/24`);
  }
  return { address, prefix, family };
}

const LONGEST = { ipv4: 32, ipv6: 128 } as const;

function isWithin(network: string, bound: string): boolean {
  const [inner, outer] = [readNetwork(network), readNetwork(bound)];
  if (inner.family !== outer.family || inner.prefix < outer.prefix) return false;
  const list = new BlockList();
  list.addSubnet(outer.address, outer.prefix, outer.family);
  return list.check(inner.address, inner.family);
}
