/** What operators set of an account: its columns that are marked `@setting` in the schema. */

import type { NewAccount } from '../../account.js';
import { columnsOf } from './tables.js';
import type { Column, SomeColumns } from './tables.js';

const SETTINGS = Object.entries(columnsOf('Account')).filter(([, { isSetting }]) => isSetting);

type Values = Readonly<Record<string, unknown>>;

/** The columns of a new account. Those that are left out have a default in the database. */
export function newSettings(
  account: NewAccount,
): SomeColumns<'Account'> & Pick<NewAccount, 'name'> {
  const absent = SETTINGS.flatMap(([member, { isNullable }]) =>
    isNullable ? [[member, null] as const] : [],
  );
  return { ...Object.fromEntries(absent), ...given(account), name: account.name };
}

/**
 * The settings that a change or a record of an account names, as the trail has them: under the
 * names of their columns, without those about a person.
 */
export function recordedSettings(values: object): Values {
  return someOf(
    values,
    ({ isPersonal }) => !isPersonal,
    ({ name }) => name,
  );
}

/** Of a change or a record of an account: the settings about a person. */
export function personalSettings(values: object): Values {
  return someOf(
    values,
    ({ isPersonal }) => isPersonal === true,
    (_, member) => member,
  );
}

/** Of a new account: the texts about a person, as the trail has them. */
export function personalOfNew(account: NewAccount): Values {
  return someOf(
    account,
    ({ isPersonal, kind }) => isPersonal === true && kind === 'text',
    ({ name }) => (name === 'name' ? 'account' : `account_${name}`),
  );
}

function someOf(
  values: object,
  isMeant: (column: Column) => boolean,
  nameOf: (column: Column, member: string) => string,
): Values {
  const of = given(values);
  return Object.fromEntries(
    SETTINGS.filter(([member, column]) => member in of && isMeant(column)).map(
      ([member, column]) => [nameOf(column, member), of[member]],
    ),
  );
}

function given(values: object): Values {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]: [string, unknown]) => value !== undefined),
  );
}
