/**
 * Migrations that were renamed before the first release, because their names lay in the future: a
 * migration that was written later, and named by its day, would have sorted before them. Ledgers
 * that were made with the earlier names keep working: the names in their tables of applied
 * migrations are replaced when the ledger is opened.
 */
const PRESENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['20261130000000_carries_before_their_archive', '20261128110000_carries_before_their_archive'],
  ['20261130020000_prices_of_accounts', '20261128120000_prices_of_accounts'],
  ['20261130021000_allowances', '20261128121000_allowances'],
  ['20261130030000_request_days', '20261128130000_request_days'],
  ['20261201010000_notices_by_mail', '20261128140000_notices_by_mail'],
  ['20261201020000_tags_of_requests', '20261128150000_tags_of_requests'],
  ['20261202010000_expiry_when_read', '20261129023000_expiry_when_read'],
  ['20261202020000_first_times_of_requests', '20261129030000_first_times_of_requests'],
]);

/** The name that a migration has now. */
export function presentName(name: string): string {
  return PRESENT_NAMES.get(name) ?? name;
}

export interface RenamedMigration {
  readonly from: string;
  readonly to: string;
}

/** The applied migrations that a database records under an earlier name. */
export function renamedMigrations(
  applied: readonly { readonly name: string }[],
): readonly RenamedMigration[] {
  return applied
    .map(({ name }) => ({ from: name, to: presentName(name) }))
    .filter(({ from, to }) => from !== to);
}
