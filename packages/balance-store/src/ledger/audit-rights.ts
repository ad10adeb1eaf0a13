/**
 * Compares the rights of accounts, keys and promotional codes with the trail. It replays the trail
 * of one page of them at a time, in one state of the ledger, so its memory does not grow with them.
 */

import type { AuditDifference } from '../audit.js';
import { PROMO_CODE, PROMO_CODE_ACTIONS } from '../document.js';
import type { DocumentData } from '../document.js';
import { OPERATOR_BOUNDS } from '../operator-bounds.js';
import type { AuditSource, RightsOwner, RightsPage } from './audit-source.js';
import { TRAIL } from './ledger-database.js';
import { credentialDigest, documentDigest, stable } from './rights.js';
import { columnsOf } from './tables.js';
import type { Column } from './tables.js';

/** A promotional code lists its accounts, in up to 64 KiB. */
const OWNERS_PER_PAGE = { account: 500, key: 500, [PROMO_CODE]: 50 } as const;
export const TRAIL_PER_PAGE = 1_000;

export async function auditRights(
  source: Pick<AuditSource, 'rightsAfter'>,
  complain: (found: AuditDifference) => void,
): Promise<void> {
  for (const kind of ['account', 'key', PROMO_CODE] as const) {
    for (let after: string | undefined = ''; after !== undefined;) {
      const page: RightsPage = await source.rightsAfter(kind, after, OWNERS_PER_PAGE[kind]);
      page.differences.forEach(complain);
      after = page.last;
    }
  }
}

/** How a database writes a column in SQL. */
export interface RightsSql {
  /** As milliseconds since the epoch. */
  readonly ms: (column: string) => string;
  readonly text: (column: string) => string;
  /** In lower-case hexadecimal. */
  readonly hex: (column: string) => string;
  /** The code that a row of the trail is about, as `trail_promo_code_idx` indexes it. */
  readonly promoCode: string;
}

/** Statements with `?` for each parameter. */
export interface RightsStatements {
  /** Its parameters: the id of the last owner of the previous page, and a limit. */
  readonly owners: string;
  /**
   * What changed the rights of the owners of one page. Its parameters: the position (owner, number)
   * of the last row of the previous page, the last owner, and a limit.
   */
  readonly trail: string;
}

export function rightsStatements({ ms, text, hex, promoCode }: RightsSql) {
  const columns = (names: readonly string[], write: (name: string) => string) =>
    names.map((name) => `${write(name)} AS ${name}`).join(', ');
  const rights = (model: 'Account' | 'ApiKey') =>
    rightsIn(model)
      .map(({ name, kind }) => {
        if (kind === 'time') return `${ms(name)} AS ${name}`;
        return kind === 'amount' || kind === 'json' ? `${text(name)} AS ${name}` : name;
      })
      .join(', ');
  const trailOf = (owner: string, actions: readonly string[]) =>
    `SELECT ${owner} AS owner, account_id, ${text('trail.seq')} AS seq, action, details ` +
    `FROM trail WHERE (${owner}, trail.seq) > (?, ?) AND ${owner} <= ? AND action IN ` +
    `(${actions.map((action) => `'${action}'`).join(', ')}) ORDER BY ${owner}, trail.seq LIMIT ?`;
  return {
    account: {
      owners:
        `SELECT id, id AS account_id, ${rights('Account')} ` +
        'FROM account WHERE id > ? ORDER BY id LIMIT ?',
      trail: trailOf('account_id', ACCOUNT_ACTIONS),
    },
    key: {
      owners:
        'SELECT api_key.id, api_key.account_id, pepper_id, previous_pepper_id, ' +
        `${rights('ApiKey')}, ` +
        `${columns(['credential_hmac', 'previous_hmac'], hex)}, ` +
        `${text('document.data')} AS ${OPERATOR_BOUNDS} FROM api_key ` +
        `LEFT JOIN document ON kind = '${OPERATOR_BOUNDS}' AND document.id = api_key.id ` +
        'WHERE api_key.id > ? ORDER BY api_key.id LIMIT ?',
      trail: trailOf('key_id', KEY_ACTIONS),
    },
    [PROMO_CODE]: {
      owners:
        `SELECT id, account_id, version, ${text('data')} AS data FROM document ` +
        `WHERE kind = '${PROMO_CODE}' AND id > ? ORDER BY id LIMIT ?`,
      trail: trailOf(promoCode, PROMO_CODE_ACTIONS),
    },
  } satisfies Record<RightsOwner, RightsStatements>;
}

const ACCOUNT_ACTIONS = ['account.create', 'account.update', 'account.suspend', 'account.resume'];
const KEY_ACTIONS = [
  'account.create',
  ...['create', 'update', 'suspend', 'resume', 'revoke', 'rotate', 'renew_hash'].map(
    (change) => `key.${change}`,
  ),
];

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
    const code = of === PROMO_CODE ? `promotional code ${owner.id}: ` : '';
    differences.push({
      check: 'rights',
      accountId: of === PROMO_CODE ? undefined : owner.account_id,
      keyId: of === 'key' ? owner.id : undefined,
      entryId,
      expected: `${code}${expected}`,
      found,
    });
  };
  return {
    /** Must be called in the order of the trail. */
    add(change: RightsChange): void {
      const { owner, account_id: accountId, action } = change;
      const seq = String(change.seq);
      const isCreation = action.endsWith('.create');
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
      const details = JSON.parse(change.details) as Values;
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
        const expected = replayed.get(owner.id);
        if (expected === undefined) {
          complain(owner, undefined, `the creation of this ${NAMES[of]} in the trail`, 'none');
          continue;
        }
        const found = FOUND[of](owner);
        for (const [name, value] of Object.entries(expected.values)) {
          if (value === undefined || stable(value) === stable(found[name])) continue;
          const seq = expected.setBy.get(name);
          const entryId = seq === undefined ? undefined : `${TRAIL}:${seq}`;
          complain(owner, entryId, shown(name, value), shown(name, found[name], value));
        }
      }
      return differences;
    },
  };
}

const NAMES: Readonly<Record<RightsOwner, string>> = {
  account: 'account',
  key: 'key',
  [PROMO_CODE]: 'code',
};

function rightsIn(model: 'Account' | 'ApiKey'): readonly Column[] {
  return Object.values(columnsOf(model)).filter(({ isRight }) => isRight);
}

function nullableRightsIn(model: 'Account' | 'ApiKey'): Values {
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

const RIGHTS: Readonly<Record<RightsOwner, readonly string[]>> = {
  account: RIGHTS_OF_ACCOUNT,
  key: RIGHTS_OF_KEY,
  [PROMO_CODE]: RIGHTS_OF_CODE,
};

/** The values of each right in a row. */
const FOUND: Readonly<Record<RightsOwner, (row: OwnerRow) => Values>> = {
  account: valuesOfAccount,
  key: valuesOfKey,
  [PROMO_CODE]: valuesOfCode,
};

function createdValues(of: RightsOwner, accountId: string | null, details: Values): Values {
  if (of === 'account') {
    // As with keys: a creation that names no right was recorded without them.
    const isRecorded = 'low_balance' in details;
    const others = isRecorded ? NO_RIGHTS_OF_ACCOUNT : {};
    return { state: 'active', ...others, ...named(RIGHTS_OF_ACCOUNT, details) };
  }
  if (of === PROMO_CODE) return named(RIGHTS_OF_CODE, details);
  const account = { account: accountId };
  // Of a key whose creation was recorded without its rights, only later changes are known.
  if (details['credential_digest'] === undefined) return { ...account, state: 'active' };
  return { ...account, ...NO_RIGHTS_OF_KEY, ...named(RIGHTS_OF_KEY, details) };
}

function changedValues(of: RightsOwner, action: string, details: Values, before: Values): Values {
  const changed = named(RIGHTS[of], details);
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

function valuesOfAccount(row: OwnerRow): Values {
  return readRights('Account', row);
}

function readRights(model: 'Account' | 'ApiKey', row: OwnerRow): Values {
  return Object.fromEntries(
    rightsIn(model).map(({ name, kind }) => {
      if (kind === 'json') return [name, parsed(row[name])];
      return [name, kind === 'time' ? timeOf(row[name]) : row[name]];
    }),
  );
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

function parsed(text: unknown): unknown {
  return typeof text === 'string' ? JSON.parse(text) : null;
}

function timeOf(ms: unknown): string | null {
  return ms === null || ms === undefined ? null : new Date(Number(ms)).toISOString();
}

const BY_DIGEST: Readonly<Record<string, string>> = {
  credential_digest: 'credential',
  previous_digest: 'previous credential',
  digest: 'contents',
};

/** In words for an operator, without a digest. */
function shown(name: string, value: unknown, expected?: unknown): string {
  const digested = BY_DIGEST[name];
  if (digested === undefined) return `${name.replaceAll('_', ' ')}: ${stable(value)}`;
  if (value === null) return `${digested}: none`;
  return `${digested}: ${expected === undefined ? 'as in the trail' : 'another'}`;
}
