/**
 * Which upstream accounts may serve a request, and in which order (docs/decisions/0127).
 *
 * Every fence that the request falls under binds it: that of its tag, of each group above its
 * member, and of its account. A tag, which a client chooses, can therefore not lead out of the
 * fence of an account. The order is that of one route: that of the tag comes before that of the
 * nearest group, that of the account and the default one. Accounts that this route does not name
 * come last. A key always begins with the same account, because its prompt caches are there.
 */

import { createHash } from 'node:crypto';
import type { Route } from '../../config/upstream-target.js';
import type { AskedOf, UpstreamCall } from '../upstream.js';

interface Named {
  readonly name: string;
}

export interface RouteTable {
  /** The homes that no fence excludes. */
  within<Home extends Named>(homes: readonly Home[], asked: AskedOf): readonly Home[];
  /** All of them, in the order in which the request tries them. */
  inOrder<Home extends Named>(homes: readonly Home[], call: RoutedCall): readonly Home[];
}

type RoutedCall = AskedOf & Pick<UpstreamCall, 'keyId'>;

/** A route, prepared for look-ups by the name of a home. */
interface Way {
  readonly ranks: ReadonlyMap<string, { readonly rank: number; readonly weight: number }>;
  readonly isFence: boolean;
}

export function createRouteTable(routes: readonly Route[]): RouteTable {
  const ways = new Map(routes.map((route) => [nameOf(route), wayOf(route)]));

  /** The routes that the request falls under, the deciding one first. */
  function waysFor({ accountId: account, spender }: AskedOf): readonly Way[] {
    const tag = spender?.tag;
    const names = [
      ...(tag === undefined ? [] : [nameOf({ account, tag }), nameOf({ tag })]),
      ...groupsOf(spender?.groups).map((group) => nameOf({ group })),
      nameOf({ account }),
      nameOf({}),
    ];
    return names.flatMap((name) => ways.get(name) ?? []);
  }

  return {
    within(homes, asked) {
      const fences = waysFor(asked).filter(({ isFence }) => isFence);
      if (fences.length === 0) return homes;
      return homes.filter(({ name }) => fences.every(({ ranks }) => ranks.has(name)));
    },
    inOrder(homes, call) {
      const [way] = waysFor(call);
      return homes
        .map((home) => {
          const { rank = Infinity, weight = 1 } = way?.ranks.get(home.name) ?? {};
          return { home, rank, lateness: latenessOf(home.name, call.keyId, weight) };
        })
        .sort((a, b) => (a.rank === b.rank ? a.lateness - b.lateness : a.rank < b.rank ? -1 : 1))
        .map(({ home }) => home);
    },
  };
}

function nameOf({ account, group, tag }: Pick<Route, 'account' | 'group' | 'tag'>): string {
  return JSON.stringify([account, group, tag]);
}

/** @param path - From the top, such as `/grp_1/grp_2/`. */
function groupsOf(path = ''): readonly string[] {
  return path
    .split('/')
    .filter((group) => group !== '')
    .reverse();
}

function wayOf({ steps, isFence }: Route): Way {
  const ranks = steps.flatMap((homes, rank) =>
    homes.map(({ name, weight }) => [name, { rank, weight }] as const),
  );
  return { ranks: new Map(ranks), isFence };
}

/**
 * Weighted rendezvous hashing: of many keys, each home is the earliest of a share that is
 * proportional to its weight. If a home is added or removed, only keys that begin or cease to use
 * it move.
 *
 * @returns a value of an exponential distribution with this weight as its rate, which depends on
 * nothing but the arguments
 */
function latenessOf(home: string, keyId: string, weight: number): number {
  const hash = createHash('sha256').update(`${home}\n${keyId}`).digest();
  // From 0 to 1, without 0, whose logarithm is infinite.
  const uniform = (hash.readUIntBE(0, 6) + 1) / 2 ** 48;
  return -Math.log(uniform) / weight;
}
