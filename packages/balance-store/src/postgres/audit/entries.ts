/** Reads entries, the trail, and the rights that it grants, for an audit. */

import type { Pool, QueryResultRow } from 'pg';
import type { SealedLedger, SealedTrail } from '../../generated/tables.js';
import { TRAIL_PER_PAGE, replayRights } from '../../ledger/audit/rights.js';
import type { OwnerRow, RightsChange } from '../../ledger/audit/rights.js';
import { rightsStatements } from '../../ledger/audit/rights-statements.js';
import { AFTER_ALL_IDS, MAX_SEQ } from '../../ledger/scan/ledger-scan.js';
import type { AuditSource } from '../../ledger/audit/audit-source.js';
import { LONG_TIMEOUT_MS, inTransaction, numbered, queryArrays } from '../query.js';
import { sealedColumns } from '../tables.js';

const timeoutMs = LONG_TIMEOUT_MS;

export function entryReaders(
  pool: Pool,
): Pick<AuditSource, 'entriesAfter' | 'chargesAfter' | 'chargesOf' | 'trailAfter' | 'rightsAfter'> {
  return {
    entriesAfter: ({ accountId, seq }, lastAccountId, limit) =>
      queryArrays<SealedLedger>(pool, {
        text: READ_ENTRIES,
        values: [accountId, seq.toString(), lastAccountId ?? null, limit],
        timeoutMs,
      }),

    chargesAfter: ({ accountId, seq }, { from, before }, limit) =>
      queryArrays<SealedLedger>(pool, {
        text:
          `${SELECT_ENTRIES} WHERE account_id = $1 AND ledger.seq > $2::int8 ` +
          "AND kind = 'charge' AND key_id >= $3 AND key_id < $4 ORDER BY ledger.seq LIMIT $5",
        values: [accountId, seq.toString(), from, before, limit],
        timeoutMs,
      }),

    chargesOf: (block) =>
      queryArrays<SealedLedger>(pool, {
        text:
          `${SELECT_ENTRIES} JOIN (SELECT account_id AS of, from_seq, to_seq FROM ledger_seal ` +
          'WHERE block_id = $1::int8) s ON ledger.account_id = s.of ' +
          'AND ledger.seq BETWEEN s.from_seq AND s.to_seq ' +
          "WHERE kind = 'charge' ORDER BY account_id, ledger.seq",
        values: [block.toString()],
        timeoutMs,
      }),

    trailAfter: (seq, limit) =>
      queryArrays<SealedTrail>(pool, {
        text:
          `SELECT ${sealedColumns('Trail')} FROM trail ` +
          'WHERE trail.seq > $1::int8 ORDER BY trail.seq LIMIT $2',
        values: [seq.toString(), limit],
        timeoutMs,
      }),

    rightsAfter: (of, after, limit) =>
      inTransaction(pool, 'snapshot', async ({ rows }) => {
        const { owners: select, trail } = RIGHTS[of];
        const owners = await rows<OwnerRow>(numbered(select), [after, limit]);
        const replay = replayRights(of, owners);
        const last = owners.length < limit ? undefined : owners.at(-1)?.id;
        let [owner, seq]: [string, string | number] = [after, MAX_SEQ.toString()];
        for (;;) {
          const changes: readonly RightsChange[] = await rows<RightsChange & QueryResultRow>(
            numbered(trail),
            [owner, seq, last ?? AFTER_ALL_IDS, TRAIL_PER_PAGE],
          );
          for (const change of changes) replay.add(change);
          const end = changes.at(-1);
          if (end === undefined || changes.length < TRAIL_PER_PAGE) break;
          [owner, seq] = [end.owner, end.seq];
        }
        return { last, differences: replay.finish() };
      }),
  };
}

const RIGHTS = rightsStatements({
  ms: (column) => `(extract(epoch FROM ${column}) * 1000)::bigint::text`,
  text: (column) => `${column}::text`,
  hex: (column) => `encode(${column}, 'hex')`,
  promoCode: `(coalesce(details::jsonb ->> 'document', details::jsonb ->> 'code') COLLATE "C")`,
  subject: `((details::jsonb ->> 'of') COLLATE "C")`,
});

const SELECT_ENTRIES = `SELECT ${sealedColumns('Ledger')} FROM ledger`;

const READ_ENTRIES =
  `${SELECT_ENTRIES} ` +
  'WHERE (account_id, ledger.seq) > ($1, $2::int8) AND ($3::text IS NULL OR account_id <= $3) ' +
  'ORDER BY account_id, ledger.seq LIMIT $4';
