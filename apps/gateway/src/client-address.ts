/** Whom a limit per address counts: one IPv4 address, or the /64 that one IPv6 customer gets. */

import { isIPv6 } from 'node:net';

/**
 * @param address - As the socket or a trusted proxy names it.
 * @returns the same text for addresses that are counted together
 */
export function addressGroup(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  if (!isIPv6(address)) return address;
  const groups = groupsOf(address);
  if (isMappedIPv4(groups)) return groups.slice(6).flatMap(bytesOf).join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The eight groups of an IPv6 address. A zone is left out. */
function groupsOf(address: string): readonly number[] {
  const [plain = ''] = address.split('%');
  const [head = '', tail] = plain.replace(/[\d.]+$/, withoutDots).split('::');
  const front = numbersOf(head);
  if (tail === undefined) return front;
  const back = numbersOf(tail);
  return [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back];
}

/** The last two groups may be written as an IPv4 address. */
function withoutDots(end: string): string {
  if (!end.includes('.')) return end;
  const [a = 0, b = 0, c = 0, d = 0] = end.split('.').map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

function numbersOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

/** How a socket that serves both versions names an IPv4 client: `::ffff:192.0.2.1`. */
function isMappedIPv4(groups: readonly number[]): boolean {
  return groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
}

function bytesOf(group: number): [number, number] {
  return [group >> 8, group & 0xff];
}
