export type {
  AccountBalance,
  AccountChange,
  AccountFilter,
  AccountRecord,
  AccountSettings,
  AccountStatus,
  Actor,
  Adjustment,
  AdjustmentOutcome,
  AdjustmentReason,
  ClosedWith,
  Closing,
  ClosingOutcome,
  ClosingRest,
  Creation,
  CreatedAccount,
  CreationOutcome,
  CreditSource,
  EmptiedBy,
  EntryReason,
  Fee,
  NewAccount,
  Reversal,
  ReversalOutcome,
  Transfer,
  TransferOutcome,
  UnspentCredit,
} from './account.js';
export type {
  ArchiveComparison,
  ArchiveFileSummary,
  ArchiveOptions,
  ArchiveProgress,
  ArchiveReport,
  LedgerArchive,
} from './archive.js';
export { verifyArchive } from './ledger/archive/verify-archive.js';
export { compareWithClosing } from './ledger/rows/books-digest.js';
export type { Metadata } from './metadata.js';
export type { AuditDifference, AuditOptions, AuditReport, SealHead } from './audit.js';
export { isWellFormedCredential } from './credential.js';
export {
  AccountClosedError,
  AccountNotClosedError,
  BackgroundWorkError,
  DatabaseUnsuitableError,
  EmbeddedStoreLockedError,
  ExternalIdTakenError,
  LedgerArchiveError,
  LedgerFileError,
  LedgerMoveError,
  LedgerMovedError,
  PepperMismatchError,
  SchemaMismatchError,
  SchemaTooNewError,
  SchemaTooOldError,
  SetByOperatorError,
  UnknownMemberError,
} from './errors.js';
export { KEY_HABITS, PROMO_CODE, SETTINGS } from './document.js';
export type {
  DocumentData,
  DocumentFilter,
  DocumentOutcome,
  DocumentKind,
  DocumentWrite,
  StoredDocument,
} from './document.js';
export {
  BUDGET_PERIODS,
  BUDGET_SCOPES,
  MAX_CHAIN,
  MAX_RUN_BUDGETS,
  MAX_RUN_BUDGETS_OF_ONE,
} from './budget.js';
export type {
  BudgetChange,
  BudgetFilter,
  BudgetPeriod,
  BudgetRaise,
  BudgetRecord,
  BudgetScope,
  BudgetSettings,
  BudgetTerms,
  BudgetUse,
  Budgets,
  ChainRoom,
  ChargePart,
  NewBudget,
  NewRaise,
  NewRunBudget,
  RunBudgetOutcome,
} from './budget.js';
export { MAX_BUDGETS, MAX_DEPTH, MAX_GROUPS, MAX_MEMBERS, mostOf } from './spender.js';
export { chainOf, leftIn, refuses } from './ledger/rules/chains.js';
export type {
  Attributed,
  GroupChange,
  GroupRecord,
  MemberChange,
  MemberFilter,
  MemberRecord,
  MemberState,
  Members,
  NewGroup,
  NewMember,
  Spender,
  SpenderFilter,
  SpenderOutcome,
} from './spender.js';
export { SPENDER_DIMENSIONS, SPENDING_DIMENSIONS } from './spending.js';
export type {
  SpenderDimension,
  SpenderMetadata,
  SpendingDimension,
  SpendingQuery,
  SpendingSum,
} from './spending.js';
export { EVENT_TYPES, MAILED_EVENT_TYPES } from './event.js';
export type { EventChannel, EventState, EventType, NewEvent, StoredEvent } from './event.js';
export type { Hold, HoldOutcome, HoldRecord, HoldState } from './hold.js';
export { CAP_PERIODS } from './key.js';
export { budgetRenewal } from './ledger/rules/budgets.js';
export { isAllowance } from './ledger/rules/entry-ids.js';
export { capStartAt, renewalOf } from './ledger/rules/caps.js';
export { subjectOf as subjectOfBudget } from './ledger/rules/budgets.js';
export type {
  CapPeriod,
  CapUse,
  KeyCaps,
  KeyChange,
  KeyFilter,
  KeyLimits,
  KeyRecord,
  KeyScope,
  KeyStanding,
  KeyState,
  Naming,
  NewKey,
  PresentedKey,
  RotationOutcome,
} from './key.js';
export type {
  ChargeDetails,
  ChargeEntry,
  EntryFilter,
  EntryPage,
  LedgerEntry,
  SettledFee,
  SettledPricing,
  SettledRates,
  SettledUsage,
} from './ledger-entry.js';
export { listCursorOf } from './list-order.js';
export type { ListOrder } from './list-order.js';
export { areNetworksWithin } from './network.js';
export { OPERATOR_BOUNDS, operatorBoundsOf } from './operator-bounds.js';
export type { BoundField, OperatorBounds } from './operator-bounds.js';
export { REQUEST_DIMENSIONS, REQUEST_PERIOD_MS } from './request-record.js';
export type {
  RecordedPart,
  RequestBatch,
  RequestDimension,
  RequestFacts,
  RequestFilter,
  RequestPage,
  RequestPruning,
  RequestQuery,
  RequestRecord,
  RequestSum,
  RequestSumQuery,
  RequestTokens,
} from './request-record.js';
export { StoreUnavailableError } from './store.js';
export type {
  BalanceAfter,
  BalanceStore,
  Charged,
  ChargingState,
  FindOptions,
  LedgerSummary,
  QuarantineFilter,
  QuarantineRecord,
  QuarantinedUsage,
  Settlement,
  SettleOutcome,
  Standing,
  TopUp,
  TopUpOutcome,
} from './store.js';
export type { TrailEntry, TrailFilter } from './trail.js';
export { USAGE_DIMENSIONS } from './usage.js';
export type { BookPage, BookQuery, BookSum, SideSum, Unopened } from './books.js';
export type {
  ClosedMonth,
  ClosingFigures,
  MonthOutcome,
  IssuedStatement,
  MonthToClose,
  NewStatement,
  StatementFilter,
  StatementKind,
} from './closed-month.js';
export type { UsageDimension, UsageFigure, UsageQuery, UsageSum } from './usage.js';
