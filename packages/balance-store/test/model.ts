/**
 * What a store must do, as plain functions over plain data: accounts, keys, credits, holds, used
 * ids, and the books in double entry. Written without the store's code. Amounts are units of
 * 10^-14 USD.
 */

/** A credit, as its caller asks for it. */
export interface ModelCredit {
  readonly isGiven: boolean;
  /** Infinity if it does not expire. Of `passing` credit, the time is over. */
  readonly expiresAtMs: number;
  readonly isPassing: boolean;
}

interface ModelLot extends ModelCredit {
  readonly id: string;
  remaining: bigint;
}

/** Which lots an entry changed, in order, and by how much. */
type Changes = readonly (readonly [lotId: string, amount: bigint])[];

/** An entry that a reversal may name. */
interface ModelEntry {
  readonly account: ModelAccount;
  readonly delta: bigint;
  readonly tax: bigint;
  readonly counter: string;
  /** `undefined` of a credit. */
  readonly reason: string | undefined;
  readonly changes: Changes;
  isReversed: boolean;
}

export interface ModelAccount {
  readonly index: number;
  readonly lowBalance: bigint;
  /** The shares of its balance and of its keys' caps at which an event is written, in percent. */
  readonly noticeShares: readonly number[];
  /** The balance after the last credit, less what other entries than charges took since. */
  full: bigint;
  /** What took the balance to zero since the last credit, if charges did not. */
  emptiedBy: string | undefined;
  /** With credit that has expired and is not booked, because it is held or nothing came since. */
  balance: bigint;
  /** Written off since money was last added, because the balance did not cover it. */
  uncovered: bigint;
  credited: bigint;
  adjusted: bigint;
  expired: bigint;
  entries: number;
  /** Credits that expire or are promotional, in the order of their use; used ones, too. */
  lots: ModelLot[];
  readonly events: string[];
}

export interface ModelKey {
  readonly account: ModelAccount;
  state: 'active' | 'suspended' | 'revoked';
  isExpired: boolean;
  /** The amount of its total cap. */
  cap: bigint | null;
  /** The sum of charges, including the parts that were written off. */
  used: bigint;
  writtenOff: bigint;
  /** Which of its credentials work, oldest first. */
  works: boolean[];
}

interface UsedId {
  readonly contents: string;
  readonly balance: bigint;
  readonly writtenOff: bigint;
  readonly toBalance: bigint;
}

export interface Model {
  readonly accounts: readonly ModelAccount[];
  readonly keys: readonly ModelKey[];
  readonly used: Map<string, UsedId>;
  /** Live holds by request id. */
  readonly holds: Map<string, { readonly key: ModelKey; readonly amount: bigint }>;
  readonly entries: Map<string, ModelEntry>;
  /** What each side of the books has. */
  readonly sides: Map<string, bigint>;
}

/** Moves money between sides: what is above zero is owed or earned. */
function move(model: Model, ...sides: readonly (readonly [side: string, amount: bigint])[]): void {
  for (const [side, amount] of sides) model.sides.set(side, (model.sides.get(side) ?? 0n) + amount);
}

export function givenIn({ lots }: ModelAccount): bigint {
  return lots.reduce((sum, { isGiven, remaining }) => sum + (isGiven ? remaining : 0n), 0n);
}

/** The entry of a booking in the books, and what a reversal must know of it. */
function record(
  model: Model,
  id: string,
  of: Omit<ModelEntry, 'isReversed'> & { readonly given: bigint },
): void {
  const { delta, given, tax, counter } = of;
  move(
    model,
    ['balance:paid', delta - given],
    ['balance:given', given],
    ['tax', tax],
    [counter, -delta - tax],
  );
  model.entries.set(id, { ...of, isReversed: false });
}

/** @param owners - For each key, which account it belongs to. */
export function newModel(
  owners: readonly number[],
  { lowBalance, noticeShares }: Pick<ModelAccount, 'lowBalance' | 'noticeShares'>,
): Model {
  const accounts = [0, 1].map((index): ModelAccount => ({
    index,
    lowBalance,
    noticeShares,
    full: 0n,
    emptiedBy: undefined,
    balance: 0n,
    uncovered: 0n,
    credited: 0n,
    adjusted: 0n,
    expired: 0n,
    entries: 0,
    lots: [],
    events: [],
  }));
  const keys = owners.map((owner): ModelKey => ({
    account: accounts[owner]!,
    state: 'active',
    isExpired: false,
    cap: null,
    used: 0n,
    writtenOff: 0n,
    works: [true],
  }));
  return {
    accounts,
    keys,
    used: new Map(),
    holds: new Map(),
    entries: new Map(),
    sides: new Map(),
  };
}

export function standingOf({ state, isExpired, account }: ModelKey): string {
  if (state !== 'active') return state;
  if (isExpired) return 'expired';
  return spendable(account) > 0n && account.uncovered === 0n ? 'active' : 'exhausted';
}

const isFunded = ({ balance, uncovered }: ModelAccount) => balance > 0n && uncovered === 0n;

/** What has expired of the balance and is not booked. */
export function expiredOf({ lots }: ModelAccount): bigint {
  const passed = lots.filter(({ isPassing }) => isPassing);
  return passed.reduce((sum, { remaining }) => sum + remaining, 0n);
}

export const spendable = (account: ModelAccount): bigint => account.balance - expiredOf(account);

/** Whether the key could make requests if nothing of the balance had expired. */
const isActiveByBalance = ({ state, isExpired, account }: ModelKey) =>
  state === 'active' && !isExpired && isFunded(account);

export function heldByAccount(model: Model, account: ModelAccount): bigint {
  return sumOf([...model.holds.values()].filter(({ key }) => key.account === account));
}

const heldByKey = (model: Model, of: ModelKey) =>
  sumOf([...model.holds.values()].filter(({ key }) => key === of));
const sumOf = (holds: readonly { readonly amount: bigint }[]) =>
  holds.reduce((sum, { amount }) => sum + amount, 0n);
const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** Changes the balance by an entry, and writes events for the thresholds that it crosses. */
function book(
  account: ModelAccount,
  delta: bigint,
  { uncovered = 0n, cause }: { uncovered?: bigint; cause?: ModelAccount['emptiedBy'] } = {},
): void {
  const [before, wasFunded] = [account.balance, isFunded(account)];
  account.balance += delta;
  if (delta > 0n) account.full = account.balance;
  if (delta > 0n && account.balance > 0n) account.emptiedBy = undefined;
  if (before > 0n && account.balance <= 0n && cause !== undefined) account.emptiedBy = cause;
  account.uncovered = delta > 0n ? 0n : account.uncovered + uncovered;
  account.entries += 1;
  const { balance, lowBalance } = account;
  if (delta < 0n && before > lowBalance && balance <= lowBalance)
    account.events.push('balance.low');
  if (wasFunded && !isFunded(account)) account.events.push('balance.exhausted');
  const { full, noticeShares } = account;
  const reached = reachedBy(noticeShares, full, { before: full - before, after: full - balance });
  if (delta > 0n || cause === undefined) {
    account.events.push(...reached.map(() => 'balance.share'));
    return;
  }
  // What was taken is not used: one event at most, and then the whole is less.
  if (reached.length > 0 && !(wasFunded && !isFunded(account)))
    account.events.push('balance.share');
  account.full = max(0n, full + delta);
}

/** A share is reached once: when the used part of the whole first has that many percent of it. */
function reachedBy(
  shares: readonly number[],
  whole: bigint,
  { before, after }: { readonly before: bigint; readonly after: bigint },
): readonly number[] {
  const isUsed = (used: bigint, share: number) => (used * 100n) / BigInt(share) >= whole;
  return whole <= 0n
    ? []
    : shares.filter((share) => !isUsed(before, share) && isUsed(after, share));
}

/** Takes this much from the credits, in their order. */
function useLots(account: ModelAccount, amount: bigint, lots = account.lots): Changes {
  let left = amount;
  const changes: [string, bigint][] = [];
  for (const lot of lots) {
    const taken = min(lot.remaining, left);
    lot.remaining -= taken;
    left -= taken;
    if (taken > 0n) changes.push([lot.id, -taken]);
  }
  return changes;
}

/** Reduces the credits until their sum is at most the balance. */
function fitLots(account: ModelAccount): Changes {
  const total = account.lots.reduce((sum, { remaining }) => sum + remaining, 0n);
  return useLots(account, max(0n, total - max(0n, account.balance)));
}

/** Adds credits to a balance that has them already: what pays a debt counts as used. */
function addLots(account: ModelAccount, lots: readonly ModelLot[]): Changes {
  account.lots = [...account.lots, ...lots].sort(
    (a, b) => a.expiresAtMs - b.expiresAtMs || (a.id < b.id ? -1 : 1),
  );
  const changes = lots.map(({ id, remaining }) => [id, remaining] as const);
  fitLots(account);
  return changes;
}

export function chargeKey(
  model: Model,
  key: ModelKey,
  charge: {
    readonly requestId: string;
    readonly amount: bigint;
    readonly overdraft: 'bounded' | 'none';
  },
) {
  const { requestId, amount, overdraft } = charge;
  const { account } = key;
  const contents = `${String(model.keys.indexOf(key))} ${String(amount)}`;
  expireCredits(model, account);
  const known = model.used.get(requestId);
  const hold = model.holds.get(requestId);
  model.holds.delete(requestId);
  if (known !== undefined && known.contents !== contents) return { outcome: 'conflict' };
  if (known !== undefined) {
    return {
      outcome: 'replayed',
      balance: known.balance,
      isActive: isActiveByBalance(key),
      writtenOff: known.writtenOff,
    };
  }
  const own = hold?.key === key ? hold.amount : undefined;
  const isGuarded = overdraft === 'none' || own !== undefined;
  const { balance: left } = account;
  const reserved = own ?? 0n;
  const byBalance = max(0n, min(left, max(reserved, left - heldByAccount(model, account))));
  const writtenOff = isGuarded ? max(0n, amount - byBalance) : 0n;
  const wasBelowCap = key.cap !== null && key.used < key.cap;
  key.used += amount;
  key.writtenOff += writtenOff;
  book(account, writtenOff - amount, { uncovered: writtenOff });
  const givenBefore = givenIn(account);
  useLots(account, amount - writtenOff);
  const redeemed = givenBefore - givenIn(account);
  move(model, ['balance:given', -redeemed], ['redeemed', redeemed]);
  if (wasBelowCap && key.used >= (key.cap ?? 0n)) account.events.push('cap.reached');
  const { used } = key;
  const change = { before: used - amount, after: used };
  const reached = reachedBy(account.noticeShares, key.cap ?? 0n, change);
  account.events.push(...reached.map(() => 'cap.share'));
  const { balance } = account;
  model.used.set(requestId, { contents, balance, writtenOff, toBalance: 0n });
  return { outcome: 'settled', balance, isActive: isActiveByBalance(key), writtenOff };
}

export function placeHold(
  model: Model,
  key: ModelKey,
  { requestId, amount }: { readonly requestId: string; readonly amount: bigint },
) {
  const standing = standingOf(key);
  if (standing !== 'active') return { outcome: 'inactive', standing };
  const { account, cap, used } = key;
  const balance = spendable(account);
  const held = heldByAccount(model, account);
  if (model.holds.has(requestId)) return { outcome: 'held', balance, held };
  const ofKey = heldByKey(model, key);
  if (cap !== null && (used >= cap || used + ofKey + amount > cap)) {
    return { outcome: 'over_budget', use: { amount: cap, used, held: ofKey } };
  }
  const shortfall = held + amount - balance;
  if (shortfall > 0n) return { outcome: 'short', balance, held, shortfall };
  model.holds.set(requestId, { key, amount });
  return { outcome: 'held', balance, held: held + amount };
}

function activeKeys(model: Model, account: ModelAccount): number {
  return model.keys.filter((key) => key.account === account && isActiveByBalance(key)).length;
}

export function topUp(
  model: Model,
  account: ModelAccount,
  {
    id,
    units,
    credit,
    tax,
  }: {
    readonly id: string;
    readonly units: bigint;
    readonly credit: ModelCredit;
    readonly tax: bigint;
  },
) {
  const { isGiven, expiresAtMs } = credit;
  const contents = [account.index, units, isGiven, expiresAtMs, tax].join(' ');
  const known = model.used.get(id);
  if (known !== undefined && known.contents !== contents) return { outcome: 'conflict' };
  if (known === undefined) {
    expireCredits(model, account);
    book(account, units);
    account.credited += units;
    account.events.push('credit.added');
    const isLot = isGiven || expiresAtMs !== Infinity;
    const before = givenIn(account);
    const changes = isLot ? addLots(account, [{ ...credit, id, remaining: units }]) : [];
    const given = givenIn(account) - before;
    const counter = isGiven ? 'given' : 'cash:manual';
    const reason = undefined;
    record(model, id, { account, delta: units, given, tax, counter, reason, changes });
    model.used.set(id, { contents, balance: account.balance, writtenOff: 0n, toBalance: 0n });
  }
  return {
    outcome: known === undefined ? 'credited' : 'replayed',
    balance: known?.balance ?? account.balance,
    activeKeys: activeKeys(model, account),
  };
}

export function adjust(
  model: Model,
  account: ModelAccount,
  {
    id,
    units,
    reason,
    tax,
  }: {
    readonly id: string;
    readonly units: bigint;
    readonly reason: keyof typeof COUNTERS;
    readonly tax: bigint;
  },
) {
  const contents = [account.index, units, reason, tax].join(' ');
  const known = model.used.get(id);
  if (known !== undefined && known.contents !== contents) return { outcome: 'conflict' };
  if (known === undefined) {
    expireCredits(model, account);
    const before = givenIn(account);
    let changes = bookAdjustment(account, units, reason);
    if (units > 0n && reason === 'goodwill') {
      const credit = { isGiven: true, expiresAtMs: Infinity, isPassing: false };
      changes = addLots(account, [{ ...credit, id, remaining: units }]);
    }
    const given = givenIn(account) - before;
    record(model, id, {
      account,
      delta: units,
      given,
      tax,
      counter: COUNTERS[reason],
      reason,
      changes,
    });
    model.used.set(id, { contents, balance: account.balance, writtenOff: 0n, toBalance: 0n });
  }
  return {
    outcome: known === undefined ? 'adjusted' : 'replayed',
    balance: known?.balance ?? account.balance,
    activeKeys: activeKeys(model, account),
  };
}

export const COUNTERS = {
  correction: 'corrections',
  goodwill: 'given',
  refund: 'refunds',
  write_off: 'bad_debt',
} as const;

function bookAdjustment(account: ModelAccount, units: bigint, cause: string): Changes {
  account.events.push('balance.adjusted');
  book(account, units, { cause });
  account.adjusted += units;
  if (units > 0n) return [];
  // What was a gift is taken back from given money first.
  const gifts = cause === 'goodwill' ? account.lots.filter(({ isGiven }) => isGiven) : [];
  return [...useLots(account, -units, gifts), ...fitLots(account)];
}

export function reverse(
  model: Model,
  account: ModelAccount,
  { id, reverses }: { readonly id: string; readonly reverses: string },
) {
  const contents = `${String(account.index)} reverses ${reverses}`;
  const known = model.used.get(id);
  if (known !== undefined && known.contents !== contents) return { outcome: 'conflict' };
  if (known !== undefined) {
    return { outcome: 'replayed', balance: known.balance, activeKeys: activeKeys(model, account) };
  }
  const refuse = (why: string) => ({ outcome: 'not_reversible', why });
  const entry = model.entries.get(reverses);
  expireCredits(model, account);
  if (entry?.account !== account) return refuse('unknown_entry');
  if (entry.delta === 0n || entry.reason === 'transfer') return refuse('kind');
  if (entry.isReversed) return refuse('reversed');
  entry.isReversed = true;
  const { counter, reason = 'correction' } = entry;
  const delta = -entry.delta;
  const before = givenIn(account);
  account.events.push('balance.adjusted');
  book(account, delta, { cause: reason });
  account.adjusted += delta;
  const undone: [string, bigint][] = [];
  for (const [lotId, amount] of [...entry.changes].reverse()) {
    const lot = account.lots.find((one) => one.id === lotId);
    if (lot === undefined) continue;
    const change = max(-amount, -lot.remaining);
    lot.remaining += change;
    if (change !== 0n) undone.push([lotId, change]);
  }
  const changes = [...undone, ...fitLots(account)];
  const given = givenIn(account) - before;
  record(model, id, { account, delta, given, tax: -entry.tax, counter, reason, changes });
  const { balance } = account;
  model.used.set(id, { contents, balance, writtenOff: 0n, toBalance: 0n });
  expireCredits(model, account);
  return { outcome: 'adjusted', balance: account.balance, activeKeys: activeKeys(model, account) };
}

export function bookFee(
  model: Model,
  account: ModelAccount,
  { id, fee }: { readonly id: string; readonly fee: bigint },
) {
  const contents = `${String(account.index)} ${String(fee)}`;
  const known = model.used.get(id);
  if (known !== undefined && known.contents !== contents) return { outcome: 'conflict' };
  if (known === undefined) {
    expireCredits(model, account);
    account.entries += 1;
    move(model, ['fees', -fee], ['cash:stripe', fee]);
    const nothing = { delta: 0n, tax: 0n, counter: 'cash:stripe', reason: 'fee', changes: [] };
    model.entries.set(id, { ...nothing, account, isReversed: false });
    const { balance } = account;
    model.used.set(id, { contents, balance, writtenOff: 0n, toBalance: 0n });
  }
  return {
    outcome: known === undefined ? 'adjusted' : 'replayed',
    balance: known?.balance ?? account.balance,
    activeKeys: activeKeys(model, account),
  };
}

export function transfer(
  model: Model,
  of: {
    readonly id: string;
    readonly source: ModelAccount;
    readonly target: ModelAccount;
    readonly units: bigint;
  },
) {
  const { source, target, units } = of;
  const id = `transfer:${of.id}`;
  const contents = `${String(source.index)} ${String(units)}`;
  const known = model.used.get(id);
  if (known !== undefined && known.contents !== contents) return { outcome: 'conflict' };
  if (known !== undefined) {
    return { outcome: 'replayed', fromBalance: known.balance, toBalance: known.toBalance };
  }
  expireCredits(model, source);
  expireCredits(model, target);
  const free = max(0n, source.balance - heldByAccount(model, source));
  if (free < units) return { outcome: 'short', free };
  const common = { tax: 0n, counter: 'transfers', reason: 'transfer' };
  const ofSource = givenIn(source);
  const taken = bookAdjustment(source, -units, 'transfer');
  const outGiven = givenIn(source) - ofSource;
  const out = { ...common, account: source, delta: -units, given: outGiven, changes: taken };
  record(model, `${id}:out`, out);
  const carried: ModelLot[] = [];
  for (const [lotId, amount] of taken) {
    const { isGiven, isPassing, expiresAtMs } = source.lots.find((lot) => lot.id === lotId)!;
    const same = carried.find((lot) => lot.isGiven === isGiven && lot.expiresAtMs === expiresAtMs);
    if (same !== undefined) same.remaining -= amount;
    else {
      const number = carried.length === 0 ? '' : `#${String(carried.length + 1)}`;
      const lot = { id: `${id}:in${number}`, isGiven, isPassing, expiresAtMs };
      carried.push({ ...lot, remaining: -amount });
    }
  }
  const ofTarget = givenIn(target);
  bookAdjustment(target, units, 'transfer');
  const changes = addLots(target, carried);
  const given = givenIn(target) - ofTarget;
  record(model, `${id}:in`, { ...common, account: target, delta: units, given, changes });
  const [balance, toBalance] = [source.balance, target.balance];
  model.used.set(id, { contents, balance, writtenOff: 0n, toBalance });
  return { outcome: 'transferred', fromBalance: balance, toBalance };
}

export function expireCredits(model: Model, account: ModelAccount): void {
  for (const lot of account.lots) {
    if (!lot.isPassing) continue;
    const taken = min(lot.remaining, account.balance - heldByAccount(model, account));
    if (taken <= 0n) continue;
    lot.remaining -= taken;
    move(
      model,
      [lot.isGiven ? 'balance:given' : 'balance:paid', -taken],
      [lot.isGiven ? 'given' : 'breakage', taken],
    );
    book(account, -taken, { cause: 'expiry' });
    account.expired += taken;
    account.events.push('credit.expired');
  }
}

export function unspentOf({ lots, balance }: ModelAccount) {
  const inLots = lots.reduce((sum, { remaining }) => sum + remaining, 0n);
  return {
    lots: lots
      .filter(({ isPassing, remaining }) => !isPassing && remaining > 0n)
      .map(({ id, remaining }) => ({ entryId: id, remaining })),
    other: max(0n, balance) - inLots,
  };
}

export function rotate(model: Model, key: ModelKey, hasGrace: boolean): 'rotated' | 'revoked' {
  if (key.state === 'revoked') return 'revoked';
  const last = key.works.length - 1;
  key.works = [...key.works.map((_, index) => index === last && hasGrace), true];
  key.account.events.push('key.rotated');
  return 'rotated';
}
