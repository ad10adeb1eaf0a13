export type { AuditDifference, AuditOptions, AuditReport, SealHead } from './audit.js';
export { isWellFormedCredential } from './credential.js';
export {
  EmbeddedStoreLockedError,
  LedgerFileError,
  LedgerMoveError,
  LedgerMovedError,
  PepperMismatchError,
  SchemaMismatchError,
  SchemaTooNewError,
  SchemaTooOldError,
} from './errors.js';
export type { Hold, HoldOutcome, HoldRecord, HoldState } from './hold.js';
export type { KeyLimits, KeyRecord, KeyState, NewKey } from './key.js';
export type {
  EntryFilter,
  EntryPage,
  LedgerEntry,
  SettledRates,
  SettledUsage,
} from './ledger-entry.js';
export { StoreUnavailableError } from './store.js';
export type {
  BalanceAfter,
  BalanceStore,
  Charged,
  LedgerSummary,
  QuarantinedUsage,
  Settlement,
  SettleOutcome,
  Standing,
  TopUp,
  TopUpOutcome,
} from './store.js';
