/** What the trail says of groups, members, budgets and raises, under the names of their columns. */

import { columnsOf } from '../tables/tables.js';
import type { SpenderModel } from './spender-rows.js';

type Values = Readonly<Record<string, unknown>>;

export function rightsOf(model: SpenderModel, row: object): Values {
  return some(model, row, ({ isRight }) => isRight === true);
}

export function personalOf(model: SpenderModel, row: object): Values {
  return some(model, row, ({ isPersonal }) => isPersonal === true);
}

function some(
  model: SpenderModel,
  row: object,
  isMeant: (column: { readonly isRight?: true; readonly isPersonal?: true }) => boolean,
): Values {
  const values = new Map<string, unknown>(Object.entries(row));
  return Object.fromEntries(
    Object.entries(columnsOf(model))
      .filter(([member, column]) => values.has(member) && isMeant(column))
      .map(([member, { name, kind }]) => {
        const value = values.get(member) ?? null;
        // The trail writes a bigint as an amount.
        return [name, kind === 'bigint' && typeof value === 'bigint' ? value.toString() : value];
      }),
  );
}
