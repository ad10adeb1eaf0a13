/**
 * Keeps webhooks out of the operator's network. Each connection's address is checked after its name
 * was resolved, immediately before connecting: a name that was checked earlier may resolve to
 * another address by then.
 */

import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';

/** The receiver's address is not on the public internet. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';
  constructor() {
    super(
      'the address of the receiver is not public; to allow that, set WEBHOOK_ALLOW_PRIVATE=true',
    );
  }
}

/** The address of Azure's platform services, which is in the public range. */
const METADATA = '168.63.129.16';
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** With NAT64, IPv6 hosts reach an IPv4 host at this prefix followed by its IPv4 address. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** @param address - IPv4 or IPv6, as a resolver returns it. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return isPublicIpv4(parsed);
  if (parsed.match(NAT64)) return isPublicIpv4(new ipaddr.IPv4(parsed.toByteArray().slice(12)));
  return parsed.match(GLOBAL_UNICAST) && parsed.range() === 'unicast';
}

function isPublicIpv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && address.toString() !== METADATA;
}

/** Resolves as `lookup` does, and leaves out addresses that are not public. */
export function publicLookup(lookup: typeof systemLookup = systemLookup): LookupFunction {
  return (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, found: readonly LookupAddress[]) => {
      const [first, ...others] = error === null ? found.filter(isPublic) : [];
      if (first === undefined) done(error ?? new PrivateAddressError(), '');
      else if (options.all === true) done(null, [first, ...others]);
      else done(null, first.address, first.family);
    });
  };
}

function isPublic({ address }: LookupAddress): boolean {
  return isPublicAddress(address);
}

/** Connects to public addresses only, with undici. */
export function publicConnector(timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    lookup: publicLookup(),
  });
  return (options, callback) => {
    // If the host is an IP address, undici connects without calling `lookup`.
    const isPrivate = isIP(options.hostname) !== 0 && !isPublicAddress(options.hostname);
    if (isPrivate) callback(new PrivateAddressError(), null);
    else connect(options, callback);
  };
}
