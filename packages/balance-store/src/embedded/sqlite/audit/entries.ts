/** Reads entries, the trail, and the rights that it grants, for an audit. */

import { setImmediate } from 'node:timers/promises';
import { sealedLedgerOf, sealedTrailOf } from '../../../generated/tables.js';
import { TRAIL_PER_PAGE, replayRights } from '../../../ledger/audit/rights.js';
import type { OwnerRow, RightsChange } from '../../../ledger/audit/rights.js';
import { rightsStatements } from '../../../ledger/audit/rights-statements.js';
import { AFTER_ALL_IDS } from '../../../ledger/scan/ledger-scan.js';
import type { AuditSource } from '../../../ledger/audit/audit-source.js';
import { IN_KEYS } from '../archives.js';
import type { Connection } from '../connection.js';
import { SELECT_ENTRIES } from '../entries.js';
import type { EntryRow } from '../entries.js';
import { TRAIL_COLUMNS } from '../trail.js';
import type { TrailRow } from '../trail.js';
import { pageReader } from './page.js';

export function entryReaders(
  connection: Connection,
): Pick<AuditSource, 'entriesAfter' | 'chargesAfter' | 'chargesOf' | 'trailAfter' | 'rightsAfter'> {
  const page = pageReader(connection);
  return {
    async entriesAfter({ accountId, seq }, lastAccountId, limit) {
      const rows =
        lastAccountId === undefined
          ? await page<EntryRow>(`${ENTRIES_AFTER} ${ENTRY_ORDER}`, accountId, seq, limit)
          : await page<EntryRow>(
              `${ENTRIES_AFTER} AND account_id <= ? ${ENTRY_ORDER}`,
              accountId,
              seq,
              lastAccountId,
              limit,
            );
      return rows.map(sealedLedgerOf);
    },

    async chargesAfter({ accountId, seq }, { from, before }, limit) {
      const rows = await page<EntryRow>(CHARGES_AFTER, accountId, seq, from, before, limit);
      return rows.map(sealedLedgerOf);
    },

    async chargesOf(block) {
      const rows = await page<EntryRow>(
        `SELECT l.* FROM ledger_seal s CROSS JOIN (${SELECT_ENTRIES}) l ` +
          'ON l.accountId = s.account_id AND l.seq BETWEEN s.from_seq AND s.to_seq ' +
          "WHERE s.block_id = ? AND l.kind = 'charge' ORDER BY l.accountId, l.seq",
        block,
      );
      return rows.map(sealedLedgerOf);
    },

    async trailAfter(seq, limit) {
      const rows = await page<TrailRow>(
        `SELECT ${TRAIL_COLUMNS} FROM trail t WHERE t.seq > ? ORDER BY t.seq LIMIT ?`,
        seq,
        limit,
      );
      return rows.map(sealedTrailOf);
    },

    async rightsAfter(of, after, limit) {
      await setImmediate();
      return connection.read(() => {
        const owners = connection.all<OwnerRow>(RIGHTS[of].owners, after, limit);
        const replay = replayRights(of, owners);
        const last = owners.length < limit ? undefined : owners.at(-1)?.id;
        let [owner, seq]: [string, string | number] = [after, Number.MAX_SAFE_INTEGER];
        for (;;) {
          const rows: readonly RightsChange[] = connection.all(
            RIGHTS[of].trail,
            owner,
            seq,
            last ?? AFTER_ALL_IDS,
            TRAIL_PER_PAGE,
          );
          for (const row of rows) replay.add(row);
          const end = rows.at(-1);
          if (end === undefined || rows.length < TRAIL_PER_PAGE) break;
          [owner, seq] = [end.owner, end.seq];
        }
        return { last, differences: replay.finish() };
      });
    },
  };
}

const ENTRIES_AFTER = `${SELECT_ENTRIES} WHERE (account_id, seq) > (?, ?)`;
const CHARGES_AFTER =
  `${SELECT_ENTRIES} WHERE account_id = ? AND seq > ? AND kind = 'charge' AND ${IN_KEYS} ` +
  'ORDER BY seq LIMIT ?';
const ENTRY_ORDER = 'ORDER BY account_id, seq LIMIT ?';

const RIGHTS = rightsStatements({
  ms: (column) => column,
  text: (column) => column,
  hex: (column) => `iif(${column} IS NULL, NULL, lower(hex(${column})))`,
  promoCode: `coalesce(details ->> 'document', details ->> 'code')`,
  subject: `(details ->> 'of')`,
});
