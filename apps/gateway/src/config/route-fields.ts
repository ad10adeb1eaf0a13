/**
 * The routes of `UPSTREAMS`: which accounts serve the requests of a customer, of a group of its
 * members, or with a tag. `upstream/routes/route-table.ts` says which route a request follows.
 */

import { z } from 'zod';
import { TAG } from '../base/tag.js';
import { ownTable } from './home-tables.js';
import type { Route } from './upstream-target.js';

/** A value of `inference_geo` in a table, too. */
const PLACE = /^[a-z][a-z0-9_-]{0,39}$/;
const LABEL = /^\w[\w.-]{0,39}$/;

/** The members of an account that routes, costs and prices read. */
export const placeFields = {
  place: z.string().regex(PLACE, 'must be a geography in small letters, such as "eu"').optional(),
  labels: z
    .array(z.string().regex(LABEL, 'must be 1 to 40 of a-z A-Z 0-9 . _ -'))
    .max(20)
    .optional(),
  costs: ownTable.optional(),
  prices: ownTable.optional(),
};

const weight = z.number().int().min(1).max(1_000);
export const routeField = z
  .strictObject({
    account: z
      .string()
      .regex(/^acct_[\w-]{1,64}$/, 'must be the id of an account, acct_…')
      .optional(),
    group: z
      .string()
      .regex(/^grp_[\w-]{1,64}$/, 'must be the id of a group, grp_…')
      .optional(),
    tag: z.string().regex(TAG, 'must be a tag: 1 to 64 printable characters').optional(),
    order: z.array(z.string()).min(1).max(64).optional(),
    weights: z.record(z.string(), weight).optional(),
    fence: z.boolean().default(false),
  })
  .refine(({ order, weights }) => (order === undefined) !== (weights === undefined), {
    error: 'must have either order or weights',
  })
  .refine(({ weights }) => weights === undefined || Object.keys(weights).length > 0, {
    error: 'weights: must name an account',
  })
  .refine(({ group, account, tag }) => group === undefined || (account ?? tag) === undefined, {
    error: 'group: belongs to one account, so neither account nor tag can be given with it',
  })
  .refine(({ group, account, tag, fence }) => !fence || (group ?? account ?? tag) !== undefined, {
    error: 'fence: needs an account, a group or a tag',
  });
type WrittenRoute = z.output<typeof routeField>;

interface Home {
  readonly name: string;
  readonly place?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly only_for?: readonly string[] | undefined;
}

/** @returns problems of routes as a whole, each under the path of the member to change */
export function routeProblems(
  routes: readonly WrittenRoute[],
  homes: readonly Home[],
): readonly { readonly path: readonly (string | number)[]; readonly message: string }[] {
  const seen = new Set<string>();
  return routes.flatMap((route, index) => {
    const { account, group, tag } = route;
    const whose = JSON.stringify([account, group, tag]);
    const isRepeated = seen.has(whose);
    seen.add(whose);
    const named = targetsOf(route).map(([target]) => target);
    const unknown = named.filter((target) => homesAt(target, homes).length === 0);
    const found = named.flatMap((target) => homesAt(target, homes));
    const at = (message: string, ...more: string[]) => ({ path: [index, ...more], message });
    const member = route.order === undefined ? 'weights' : 'order';
    const isReached = account === undefined || found.some((home) => mayServe(home, account, homes));
    return [
      ...(isRepeated ? [at('is for the same requests as a route before it')] : []),
      ...unknown.map((target) =>
        at(`"${target}" is neither a name of an account nor a label: or place: of one`, member),
      ),
      ...(route.weights !== undefined && new Set(found).size < found.length
        ? [at('gives an account two weights', member)]
        : []),
      ...(found.length > 0 && !isReached
        ? [
            at(
              'names only accounts whose only_for lacks this account, or that it may not use',
              member,
            ),
          ]
        : []),
    ];
  });
}

/** Customers that some account lists are served by these accounts alone. */
function mayServe({ only_for: own }: Home, account: string, homes: readonly Home[]): boolean {
  const isReserved = homes.some(({ only_for: list }) => list?.includes(account) === true);
  return isReserved ? own?.includes(account) === true : own === undefined;
}

export function readRoute(route: WrittenRoute, homes: readonly Home[]): Route {
  const { account, group, tag, fence, weights } = route;
  const seen = new Set<string>();
  // An account that several targets name belongs to the first of them.
  const steps = targetsOf(route).map(([target, share]) =>
    homesAt(target, homes).flatMap(({ name }) => {
      if (seen.has(name)) return [];
      seen.add(name);
      return [{ name, weight: share }];
    }),
  );
  return {
    account,
    group,
    tag,
    steps: weights === undefined ? steps : [steps.flat()],
    isFence: fence,
  };
}

function targetsOf({ order, weights }: WrittenRoute): readonly (readonly [string, number])[] {
  return weights === undefined
    ? (order ?? []).map((target) => [target, 1] as const)
    : Object.entries(weights);
}

/** Names of accounts contain no colon. */
function homesAt(target: string, homes: readonly Home[]): readonly Home[] {
  const [, kind, value = ''] = /^(label|place):(.*)$/s.exec(target) ?? [];
  switch (kind) {
    case 'label':
      return homes.filter(({ labels }) => labels?.includes(value));
    case 'place':
      return homes.filter(({ place }) => place === value);
    default:
      return homes.filter(({ name }) => name === target);
  }
}
