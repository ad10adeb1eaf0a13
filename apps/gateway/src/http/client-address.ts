/**
 * Decides which clients are counted together: those of one IPv4 address, or of one IPv6 /64
 * network.
 */

import ipaddr from 'ipaddr.js';

/**
 * @param address - As the socket or a trusted proxy names it.
 * @returns the same text for addresses that are counted together
 */
export function addressGroup(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  if (!ipaddr.isValid(address)) return address;
  // A dual-stack socket reports an IPv4 client as an IPv4-mapped address: `::ffff:192.0.2.1`.
  const client = ipaddr.process(address);
  if (client instanceof ipaddr.IPv4) return client.toString();
  const network = client.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
