/**
 * Compares the rights of accounts, keys, groups, members, budgets and promotional codes, and the
 * settings that operators changed, with the trail. It replays the trail of one page of them at a
 * time, in one state of the ledger, so its memory does not grow with them. `prisma/schema.prisma`
 * declares what is compared.
 */

import type { AuditDifference } from '../../audit.js';
import { PROMO_CODE, SETTINGS } from '../../document.js';
import type { DocumentData } from '../../document.js';
import { OPERATOR_BOUNDS } from '../../operator-bounds.js';
import type { AuditSource, RightsOwner, RightsPage } from './audit-source.js';
import { TRAIL } from '../seals/hashes.js';
import { SPENDING_ACTIONS, SPENDING_MODELS, rightsIn } from './rights-statements.js';
import type { RightsModel, SpendingOwner } from './rights-statements.js';
import { credentialDigest, documentDigest, stable } from '../rows/rights.js';

/** A promotional code lists its accounts, in up to 64 KiB. */
const OWNERS_PER_PAGE = {
  account: 500,
  key: 500,
  group: 500,
  member: 500,
  budget: 500,
  raise: 500,
  [PROMO_CODE]: 50,
  [SETTINGS.kind]: 1,
} as const satisfies Record<RightsOwner, number>;
export const TRAIL_PER_PAGE = 1_000;

export async function auditRights(
  source: Pick<AuditSource, 'rightsAfter'>,
  complain: (found: AuditDifference) => void,
): Promise<void> {
  for (const kind of Object.keys(OWNERS_PER_PAGE) as RightsOwner[]) {
    for (let after: string | undefined = ''; after !== undefined;) {
      const page: RightsPage = await source.rightsAfter(kind, after, OWNERS_PER_PAGE[kind]);
      page.differences.forEach(complain);
      after = page.last;
    }
  }
}

/** A row of the statement `owners`. */
export type OwnerRow = Readonly<Record<string, unknown>> & {
  readonly id: string;
  readonly account_id: string;
};

/** A row of the statement `trail`. */
export interface RightsChange {
  readonly owner: string;
  readonly account_id: string | null;
  readonly seq: string | number;
  readonly action: string;
  readonly details: string;
}

/** Of each right: its value, as it is or as it should be. An unknown right is absent. */
type Values = Readonly<Record<string, unknown>>;

/** What the trail says about the rights of one owner. */
interface Replayed {
  values: Values;
  /** The number of the row of the trail that set each right last. */
  readonly setBy: Map<string, string>;
}

/** Replays the trail of one page of owners. */
export function replayRights(of: RightsOwner, owners: readonly OwnerRow[]) {
  const known = new Set(owners.map(({ id }) => id));
  const replayed = new Map<string, Replayed>();
  const differences: AuditDifference[] = [];
  const complain = (
    owner: Pick<OwnerRow, 'id' | 'account_id'>,
    entryId: string | undefined,
    expected: string,
    found: string,
  ) => {
    const subject = subjectText(of, owner.id);
    differences.push({
      check: 'rights',
      accountId: of === PROMO_CODE || of === SETTINGS.kind ? undefined : owner.account_id,
      keyId: of === 'key' ? owner.id : undefined,
      entryId,
      expected: `${subject}${expected}`,
      found,
    });
  };
  return {
    /** Must be called in the order of the trail. */
    add(change: RightsChange): void {
      const { owner, account_id: accountId, action } = change;
      const seq = String(change.seq);
      const isCreation = action.endsWith('.create') || action === SPENDING_ACTIONS.raise[0];
      if (!known.has(owner)) {
        if (!isCreation) return;
        const id = `${TRAIL}:${seq}`;
        complain(
          { id: owner, account_id: accountId ?? '' },
          id,
          `a row of this ${NAMES[of]}`,
          'none',
        );
        return;
      }
      const details = detailsOf(change);
      const state = replayed.get(owner) ?? { values: {}, setBy: new Map<string, string>() };
      replayed.set(owner, state);
      const set = isCreation
        ? createdValues(of, accountId, details)
        : changedValues(of, action, details, state.values);
      state.values = { ...state.values, ...set };
      for (const name of Object.keys(set)) state.setBy.set(name, seq);
    },
    finish(): readonly AuditDifference[] {
      for (const owner of owners) {
        const expected = replayed.get(owner.id) ?? NOTHING_REPLAYED[of];
        if (expected === undefined) {
          complain(owner, undefined, `the creation of this ${NAMES[of]} in the trail`, 'none');
          continue;
        }
        const found = FOUND[of](owner);
        for (const [name, value] of Object.entries(withUnset(of, expected.values, found))) {
          if (value === undefined || stable(value) === stable(found[name] ?? null)) continue;
          const seq = expected.setBy.get(name);
          const entryId = seq === undefined ? undefined : `${TRAIL}:${seq}`;
          complain(owner, entryId, shown(of, name, value), shown(of, name, found[name], value));
        }
      }
      return differences;
    },
  };
}

const NAMES: Readonly<Record<RightsOwner, string>> = {
  account: 'account',
  key: 'key',
  group: 'group',
  member: 'member',
  budget: 'budget',
  raise: 'raise',
  [PROMO_CODE]: 'code',
  [SETTINGS.kind]: 'setting',
};

/** Names an owner in words for which a difference has no field. */
function subjectText(of: RightsOwner, id: string): string {
  if (of === PROMO_CODE) return `promotional code ${id}: `;
  return isSpending(of) ? `${NAMES[of]} ${id}: ` : '';
}

/** Settings need not have been changed; all others were created. */
const NOTHING_REPLAYED: Readonly<Partial<Record<RightsOwner, Replayed>>> = {
  [SETTINGS.kind]: { values: {}, setBy: new Map() },
};

/** A setting that the trail does not know, or that is not there, is `null`: its default applies. */
function withUnset(of: RightsOwner, expected: Values, found: Values): Values {
  if (of !== SETTINGS.kind) return expected;
  const unset = Object.keys(found).map((name) => [name, null] as const);
  return { ...Object.fromEntries(unset), ...expected };
}

function nullableRightsIn(model: RightsModel): Values {
  return Object.fromEntries(
    rightsIn(model).flatMap(({ name, isNullable }) => (isNullable ? [[name, null]] : [])),
  );
}

/** A creation names all other rights. */
const NO_RIGHTS_OF_KEY = {
  state: 'active',
  ...nullableRightsIn('ApiKey'),
  previous_digest: null,
  [OPERATOR_BOUNDS]: null,
};
const RIGHTS_OF_KEY = [
  'credential_digest',
  'previous_digest',
  OPERATOR_BOUNDS,
  ...rightsIn('ApiKey').map(({ name }) => name),
];
const NO_RIGHTS_OF_ACCOUNT = nullableRightsIn('Account');
const RIGHTS_OF_ACCOUNT = rightsIn('Account').map(({ name }) => name);
const RIGHTS_OF_CODE = ['digest'] as const;

const RIGHTS: Readonly<Record<RightsOwner, (details: Values) => readonly string[]>> = {
  account: () => RIGHTS_OF_ACCOUNT,
  key: () => RIGHTS_OF_KEY,
  group: rightsNamed('group'),
  member: rightsNamed('member'),
  budget: rightsNamed('budget'),
  raise: rightsNamed('raise'),
  [PROMO_CODE]: () => RIGHTS_OF_CODE,
  // Each name is that of a setting.
  [SETTINGS.kind]: Object.keys,
};

/** The values of each right in a row. */
const FOUND: Readonly<Record<RightsOwner, (row: OwnerRow) => Values>> = {
  account: valuesOfAccount,
  key: valuesOfKey,
  group: valuesIn('group'),
  member: valuesIn('member'),
  budget: valuesIn('budget'),
  raise: valuesIn('raise'),
  [PROMO_CODE]: valuesOfCode,
  [SETTINGS.kind]: ({ data }) => Object(parsed(data) ?? {}) as Values,
};

function createdValues(of: RightsOwner, accountId: string | null, details: Values): Values {
  if (of === 'account') {
    // As with keys: a creation that names no right was recorded without them.
    const isRecorded = 'low_balance' in details;
    const others = isRecorded ? NO_RIGHTS_OF_ACCOUNT : {};
    return { state: 'active', ...others, ...named(RIGHTS_OF_ACCOUNT, details) };
  }
  if (of === PROMO_CODE) return named(RIGHTS_OF_CODE, details);
  if (isSpending(of)) {
    // One that was created before a right existed does not name it.
    const others = nullableRightsIn(SPENDING_MODELS[of]);
    return { account: accountId, ...others, ...named(RIGHTS[of](details), details) };
  }
  const account = { account: accountId };
  // Of a key whose creation was recorded without its rights, only later changes are known.
  if (details['credential_digest'] === undefined) return { ...account, state: 'active' };
  return { ...account, ...NO_RIGHTS_OF_KEY, ...named(RIGHTS_OF_KEY, details) };
}

function changedValues(of: RightsOwner, action: string, details: Values, before: Values): Values {
  const changed = named(RIGHTS[of](details), details);
  switch (action) {
    case 'key.rotate':
      return {
        ...changed,
        previous_digest: details['previous_until'] === null ? null : before['credential_digest'],
      };
    case 'key.renew_hash': {
      const renewed = details['credential_digest'] as { readonly before: string };
      return Object.fromEntries(
        ['credential_digest', 'previous_digest']
          .filter((name) => before[name] === renewed.before)
          .map((name) => [name, changed['credential_digest']]),
      );
    }
    default:
      return changed;
  }
}

/** The values that the details set; of a changed one, the value after the change. */
function named(names: readonly string[], details: Values): Values {
  return Object.fromEntries(
    names
      .filter((name) => details[name] !== undefined)
      .map((name) => {
        const value = details[name];
        const isChange = typeof value === 'object' && value !== null && 'after' in value;
        return [name, isChange ? value.after : value];
      }),
  );
}

function valuesOfCode({ account_id: accountId, version, data }: OwnerRow): Values {
  return {
    digest: documentDigest({
      accountId,
      version: Number(version),
      data: parsed(data) as DocumentData,
    }),
  };
}

function isSpending(of: RightsOwner): of is SpendingOwner {
  return of in SPENDING_MODELS;
}

function rightsNamed(of: SpendingOwner): () => readonly string[] {
  const names = rightsIn(SPENDING_MODELS[of]).map(({ name }) => name);
  return () => names;
}

function valuesIn(of: SpendingOwner): (row: OwnerRow) => Values {
  return (row) => ({ account: row.account_id, ...readRights(SPENDING_MODELS[of], row) });
}

function valuesOfAccount(row: OwnerRow): Values {
  return readRights('Account', row);
}

function readRights(model: RightsModel, row: OwnerRow): Values {
  return Object.fromEntries(
    rightsIn(model).map(({ name, kind }) => {
      if (kind === 'json') return [name, parsed(row[name])];
      if (kind === 'bigint') return [name, textOf(row[name])];
      // SQLite has numbers for flags.
      if (kind === 'flag') return [name, row[name] === null ? null : Boolean(row[name])];
      return [name, kind === 'time' ? timeOf(row[name]) : row[name]];
    }),
  );
}

/** A number of 8 bytes: PostgreSQL returns a text. */
function textOf(value: unknown): string | null {
  return typeof value === 'number' || typeof value === 'string' ? String(value) : null;
}

function valuesOfKey(row: OwnerRow): Values {
  const digest = (pepperId: unknown, hmac: unknown) =>
    typeof hmac === 'string'
      ? credentialDigest({
          pepperId: String(pepperId),
          credentialHmac: Buffer.from(hmac, 'hex'),
        })
      : null;
  const { pepper_id, credential_hmac, previous_pepper_id, previous_hmac } = row;
  return {
    ...readRights('ApiKey', row),
    account: row.account_id,
    credential_digest: digest(pepper_id, credential_hmac),
    previous_digest: digest(previous_pepper_id, previous_hmac),
    [OPERATOR_BOUNDS]: parsed(row[OPERATOR_BOUNDS]),
  };
}

/** Without the details of a row that is not JSON: the check of the seals names it. */
function detailsOf({ details }: RightsChange): Values {
  const values = parsed(details);
  return typeof values === 'object' && values !== null ? (values as Values) : {};
}

/** @returns the text itself if it is not JSON, which no right is */
function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function timeOf(ms: unknown): string | null {
  return ms === null || ms === undefined ? null : new Date(Number(ms)).toISOString();
}

const BY_DIGEST: Readonly<Record<string, string>> = {
  credential_digest: 'credential',
  previous_digest: 'previous credential',
  digest: 'contents',
};

/** A setting may be a whole price table. */
const MAX_SHOWN_CHARS = 300;

/** In words for an operator, without a digest. */
function shown(of: RightsOwner, name: string, value: unknown, expected?: unknown): string {
  if (of === SETTINGS.kind) {
    const text = typeof value === 'string' ? value : 'not set';
    return `${name}: ${text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text}`;
  }
  const digested = BY_DIGEST[name];
  if (digested === undefined) return `${name.replaceAll('_', ' ')}: ${stable(value)}`;
  if (value === null) return `${digested}: none`;
  return `${digested}: ${expected === undefined ? 'as in the trail' : 'another'}`;
}
