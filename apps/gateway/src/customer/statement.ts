/** `GET /v1/dashboard/statement?month=2026-11`: as JSON, CSV, or a page that prints well. */

import { z } from 'zod';
import type { KeyRecord } from '@gateway/balance-store';
import { MINUTE_MS } from '../base/times.js';
import { month } from '../endpoints/fields.js';
import * as schema from '../endpoints/schemas.js';
import { STATEMENT_FORMATS, statementFormat } from '../endpoints/statement/statement-formats.js';
import { readStatement } from '../endpoints/statement/statement.js';
import { refusalOfQuery } from '../http/query-refusal.js';
import type { CustomerParts } from './customer-parts.js';
import { keyEndpoint } from './key-route.js';
import type { ReadAnswer } from './key-route.js';
import { needsManage } from './scope.js';

const POLICY = { limit: 30, windowMs: MINUTE_MS } as const;

const statementQuery = z.strictObject({ month, format: statementFormat });

export const getStatement = keyEndpoint(
  {
    method: 'get',
    path: '/v1/dashboard/statement',
    id: 'getStatement',
    summary: 'The statement of a month',
    credential: 'link',
    query: statementQuery,
    result: schema.statement,
    alsoAs: ['text/csv', 'text/html'],
    name: 'statement',
    limit: POLICY,
  },
  (parts) =>
    async (key, req): Promise<ReadAnswer> => {
      const query = statementQuery.safeParse(req.query);
      if (!query.success) return { refusal: refusalOfQuery(query.error) };
      if (!(await maySeeAccount(key, parts))) return { refusal: needsManage('statement') };
      const { format, month: of } = query.data;
      const statement = await readStatement(parts.store, key.accountId, {
        month: of,
        booksZone: parts.booksZone,
        issuer: parts.operator,
      });
      if (format === 'json') return { json: statement };
      const { mediaType, write, ...headers } = STATEMENT_FORMATS[format];
      return { text: write(statement), contentType: `${mediaType}; charset=utf-8`, ...headers };
    },
);

/**
 * A statement shows the charges of every key of the account. So a key needs the scope `manage`, or
 * must be the only key of its account that is not revoked. The key of a member needs the scope even
 * then: the account is not the member's, and others may join.
 *
 * @param keys - Reads {@link someKeysOf} the account, unless the caller has them.
 */
export async function maySeeAccount(
  { accountId, memberId, scope }: KeyRecord,
  { store }: Pick<CustomerParts, 'store'>,
  keys = () => someKeysOf(accountId, store),
): Promise<boolean> {
  if (scope === 'manage') return true;
  return memberId === null && (await keys()).length === 1;
}

/** At most two keys of an account that are not revoked: enough to know if there is only one. */
export function someKeysOf(
  accountId: string,
  store: Pick<CustomerParts['store'], 'listKeys'>,
): Promise<readonly KeyRecord[]> {
  return store.listKeys({ accountId, limit: 2, withoutRevoked: true });
}
