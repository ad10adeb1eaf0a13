/** The statements that read rights, and the rows of the trail that changed them. */

import { PROMO_CODE, PROMO_CODE_ACTIONS, SETTINGS, SETTINGS_ACTIONS } from '../../document.js';
import { OPERATOR_BOUNDS } from '../../operator-bounds.js';
import type { RightsOwner } from './audit-source.js';
import { columnsOf } from '../tables/tables.js';
import { TABLES } from '../../generated/tables.js';
import type { Column, Kind } from '../tables/tables.js';

/** How a database writes a column in SQL. */
export interface RightsSql {
  /** As milliseconds since the epoch. */
  readonly ms: (column: string) => string;
  readonly text: (column: string) => string;
  /** In lower-case hexadecimal. */
  readonly hex: (column: string) => string;
  /** The code that a row of the trail is about, as `trail_promo_code_idx` indexes it. */
  readonly promoCode: string;
  /** The group, member, budget or raise that it is about, as `trail_subject_idx` indexes it. */
  readonly subject: string;
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

export function rightsStatements({ ms, text, hex, promoCode, subject }: RightsSql) {
  const columns = (names: readonly string[], write: (name: string) => string) =>
    names.map((name) => `${write(name)} AS ${name}`).join(', ');
  const rights = (model: RightsModel) =>
    rightsIn(model)
      .map(({ name, kind }) => {
        if (kind === 'time') return `${ms(name)} AS ${name}`;
        return TEXTS.has(kind) ? `${text(name)} AS ${name}` : name;
      })
      .join(', ');
  const trailOf = (owner: string, actions: readonly string[]) =>
    `SELECT ${owner} AS owner, account_id, ${text('trail.seq')} AS seq, action, details ` +
    `FROM trail WHERE (${owner}, trail.seq) > (?, ?) AND ${owner} <= ? AND action IN ` +
    `(${listOf(actions)}) ORDER BY ${owner}, trail.seq LIMIT ?`;
  const owned = (kind: keyof typeof SPENDING_ACTIONS) => {
    const model = SPENDING_MODELS[kind];
    return {
      owners:
        `SELECT id, account_id, ${rights(model)} FROM ${TABLES[model].table} ` +
        'WHERE id > ? ORDER BY id LIMIT ?',
      // The first condition is that of the index.
      trail: trailOf(subject, SPENDING_ACTIONS[kind]).replace(
        'WHERE ',
        `WHERE action IN (${listOf(Object.values(SPENDING_ACTIONS).flat())}) AND `,
      ),
    };
  };
  return {
    group: owned('group'),
    member: owned('member'),
    budget: owned('budget'),
    raise: owned('raise'),
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
    // Read also without a row, which may have been deleted.
    [SETTINGS.kind]: {
      owners:
        `SELECT '${SETTINGS.id}' AS id, '' AS account_id, (SELECT ${text('data')} FROM document ` +
        `WHERE kind = '${SETTINGS.kind}' AND id = '${SETTINGS.id}') AS data ` +
        `WHERE '${SETTINGS.id}' > ? LIMIT ?`,
      trail:
        `SELECT '${SETTINGS.id}' AS owner, account_id, ${text('trail.seq')} AS seq, action, ` +
        `details FROM trail WHERE (CAST('${SETTINGS.id}' AS text), trail.seq) > (?, ?) ` +
        `AND CAST(? AS text) IS NOT NULL AND action IN (${listOf(SETTINGS_ACTIONS)}) ` +
        'ORDER BY trail.seq LIMIT ?',
    },
    [PROMO_CODE]: {
      owners:
        `SELECT id, account_id, version, ${text('data')} AS data FROM document ` +
        `WHERE kind = '${PROMO_CODE}' AND id > ? ORDER BY id LIMIT ?`,
      trail: trailOf(promoCode, PROMO_CODE_ACTIONS),
    },
  } satisfies Record<RightsOwner, RightsStatements>;
}

export const SPENDING_MODELS = {
  group: 'SpendGroup',
  member: 'Member',
  budget: 'Budget',
  raise: 'BudgetRaise',
} as const;

/** The first of each creates one. In this order an index of the trail names them. */
export const SPENDING_ACTIONS = {
  group: ['group.create', 'group.update'],
  member: ['member.create', 'member.update', 'member.end'],
  budget: ['budget.create', 'budget.update', 'budget.end'],
  raise: ['budget.raise'],
} as const;

const TEXTS: ReadonlySet<Kind> = new Set<Kind>(['amount', 'json', 'bigint']);

export type RightsModel = 'Account' | 'ApiKey' | (typeof SPENDING_MODELS)[SpendingOwner];
export type SpendingOwner = keyof typeof SPENDING_MODELS;

const ACCOUNT_ACTIONS = ['create', 'update', 'suspend', 'resume', 'close', 'reopen'].map(
  (change) => `account.${change}`,
);
const KEY_ACTIONS = [
  'account.create',
  ...['create', 'update', 'suspend', 'resume', 'revoke', 'rotate', 'renew_hash'].map(
    (change) => `key.${change}`,
  ),
];

const listOf = (actions: readonly string[]) => actions.map((action) => `'${action}'`).join(', ');

/** The columns of a table that are rights. */
export function rightsIn(model: RightsModel): readonly Column[] {
  return Object.values(columnsOf(model)).filter(({ isRight }) => isRight);
}
