/**
 * Delivers events as mail to the addresses for notices of their accounts. Those of budgets also go
 * to the member whose budget it is, or to the contact of a budget of many.
 */

import type { BalanceStore, BudgetRecord, StoredEvent } from '@gateway/balance-store';
import { isMailAddress } from '../../base/mail-address.js';
import type { AboutBudget } from './budget-notice.js';
import type { DeliveryTarget, SendOutcome } from './delivery-target.js';
import type { MailClient } from './mail-client.js';
import { mailOf } from './mail-message.js';
import type { MailOrigin } from './mail-message.js';

/** Mail servers admit few connections from one client. A notice of a budget needs up to two. */
const MOST_AT_ONCE = 4;
/** More events than these are not remembered between attempts. */
const MOST_REMEMBERED = 1_000;

type Addresses = Pick<BalanceStore, 'getAccount' | 'getBudget' | 'getMember' | 'getKey'>;

interface Recipient {
  readonly address: string;
  readonly about: AboutBudget | undefined;
}

export function mailTarget(
  store: Addresses,
  client: MailClient,
  origin: MailOrigin,
): DeliveryTarget {
  /** Who has got an event that another recipient has not: another attempt leaves them out. */
  const done = new Map<string, Set<string>>();

  async function sendTo(
    recipients: readonly Recipient[],
    event: StoredEvent,
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    const reached = done.get(event.id) ?? new Set<string>();
    const sent = await Promise.all(
      recipients
        .filter(({ address }) => !reached.has(address))
        .map(async ({ address, about }) => {
          const outcome = await client.send(address, mailOf(event, origin, about), signal);
          if (outcome.outcome === 'delivered') reached.add(address);
          return outcome;
        }),
    );
    const isToRepeat = (one: SendOutcome) =>
      one.outcome === 'stopped' || (one.outcome === 'failed' && one.isFinal !== true);
    const unfinished = sent.find(isToRepeat);
    if (unfinished !== undefined && reached.size > 0) remember(event.id, reached);
    else done.delete(event.id);
    if (unfinished !== undefined) return unfinished;
    // One who was refused does not make it fail for the other, who has it.
    return reached.size > 0 ? { outcome: 'delivered' } : (sent[0] ?? NOBODY);
  }

  function remember(id: string, reached: Set<string>): void {
    const [oldest] = done.keys();
    if (done.size >= MOST_REMEMBERED && oldest !== undefined) done.delete(oldest);
    done.set(id, reached);
  }

  return {
    channel: 'mail',
    mostAtOnce: MOST_AT_ONCE,
    timeoutMs: client.timeoutMs,
    async send(event, signal) {
      const recipients = await recipientsOf(event, store);
      if (recipients.length > 0) return sendTo(recipients, event, signal);
      return event.type.startsWith('budget.') ? NOBODY_OF_BUDGET : NOBODY;
    },
    close: () => Promise.resolve(),
  };
}

const NOBODY: SendOutcome = {
  outcome: 'needless',
  reason: 'the account has no address for notices',
};
const NOBODY_OF_BUDGET: SendOutcome = {
  outcome: 'needless',
  reason: 'neither the account nor the member or contact of the budget has an address',
};

/** Read now, because an address may have been changed or erased since the event was written. */
async function recipientsOf(event: StoredEvent, store: Addresses): Promise<readonly Recipient[]> {
  const account = (await store.getAccount(event.accountId))?.noticeEmail ?? undefined;
  const { budget: budgetId } = event.data;
  if (!event.type.startsWith('budget.') || budgetId == null) {
    return account === undefined ? [] : [{ address: account, about: undefined }];
  }
  const budget = await store.getBudget(budgetId);
  if (budget === undefined) return [];
  const own = await ownAddress(budget, event, store);
  const others = { address: account, about: { budget, to: 'others' } as const };
  return [own, others].filter(
    (one, n): one is Recipient =>
      one?.address !== undefined && (n === 0 || one.address !== own?.address),
  );
}

async function ownAddress(
  budget: BudgetRecord,
  { data: { subject: each } }: StoredEvent,
  store: Addresses,
): Promise<Recipient | undefined> {
  const { scope, contact, subject: only } = budget;
  if (scope !== 'member' && scope !== 'key') {
    return contact === null || !isMailAddress(contact)
      ? undefined
      : { address: contact, about: { budget, to: 'others' } };
  }
  const id = each === '' || each == null ? (only ?? '') : each;
  const memberId = scope === 'member' ? id : (await store.getKey(id))?.memberId;
  const member = memberId == null ? undefined : await store.getMember(memberId);
  // Who has left gets no mail any more.
  if (member?.email == null || member.state === 'ended') return undefined;
  return { address: member.email, about: { budget, to: 'spender' } };
}
