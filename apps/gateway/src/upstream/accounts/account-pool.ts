/**
 * Several accounts of one API, as one upstream (docs/decisions/0031). A key stays with one account,
 * because its prompt caches are there. A request moves to another account only if nothing of it can
 * have been billed or seen: it was never sent, or the API itself answered with an error. What else
 * may have been accepted moves only if the operator chose that for the account, because both
 * accounts may then bill it.
 */

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { AccountTarget, CeilingLimits, Route } from '../../config/upstream-target.js';
import { ClientGoneError, NO_CONTROLLER, UpstreamBusyError, toError } from '../client.js';
import type { UpstreamClient } from '../client.js';
import type {
  AskedOf,
  RefusalCause,
  UpstreamAnswers,
  UpstreamCall,
  UpstreamFailure,
} from '../upstream.js';
import { createRouteTable } from '../routes/route-table.js';
import type { RouteTable } from '../routes/route-table.js';
import { newRefusal } from '../../base/errors/refusal.js';
import type { Refusal } from '../../base/errors/refusal.js';
import { AccountAttempt } from './account-attempt.js';
import type { AttemptOutcome } from './account-attempt.js';
import { createAccountStanding } from './account-standing.js';
import type { AccountStanding, AccountState } from './account-standing.js';
import { FairCeiling } from './fair-ceiling.js';
import type { Passage } from './fair-ceiling.js';

export interface PooledAccount
  extends CeilingLimits, Pick<AccountTarget, 'name' | 'onlyFor' | 'unclearFailures'> {
  readonly client: UpstreamClient;
}

export interface AccountPoolOptions {
  readonly routes?: readonly Route[] | undefined;
  /** Milliseconds from any origin. */
  readonly now: () => number;
  /** How long a request may wait for its share of an account's ceiling. */
  readonly maxWaitMs: number;
  /**
   * The pause before a request moves. It is random, so that requests that failed together do not
   * reach the next account together.
   */
  readonly jitterMs: () => number;
  /** Called once per attempt: with the status of the response, or with 0 if there was none. */
  readonly onAnswer: (account: string, status: number) => void;
  readonly onState: (account: string, state: AccountState) => void;
}

interface Member extends PooledAccount {
  readonly standing: AccountStanding;
  readonly ceiling: FairCeiling;
}

type Refused = AttemptOutcome & { readonly outcome: 'refused' } & {
  readonly failure: UpstreamFailure;
};
type ReadOutcome = Exclude<AttemptOutcome, { readonly outcome: 'refused' }> | Refused;

/** An attempt after which the request may move. */
interface FailedAttempt {
  readonly member: Member;
  readonly outcome: Exclude<ReadOutcome, { readonly outcome: 'accepted' }>;
  readonly cause: RefusalCause | undefined;
}

/** A client's own repetitions multiply every further attempt. */
const MOST_MOVES = 2;
/** A request begins no further attempt after this time. */
const MOVE_DEADLINE_MS = 30_000;
/** The wait for an account whose 429 names none. */
const UNNAMED_LIMIT_MS = 5_000;
/** Bytes of a prompt per token, to estimate its tokens before the upstream counts them. */
const BYTES_PER_TOKEN = 4;
/** An image or a PDF has far fewer tokens than its bytes suggest. */
const MOST_EXPECTED_TOKENS = 200_000;

export class AccountPool implements UpstreamClient {
  readonly #options: AccountPoolOptions;
  readonly #members: readonly Member[];
  readonly #reserved = new Map<string, Member[]>();
  readonly #shared: readonly Member[];
  /** `undefined`: no route is configured, and no request looks for one. */
  readonly #routes: RouteTable | undefined;
  /** Absent if every account can serve every call. */
  readonly refusalFor?: (asked: AskedOf) => Refusal | undefined;

  constructor(accounts: readonly PooledAccount[], options: AccountPoolOptions) {
    const { now, maxWaitMs, routes } = options;
    this.#options = options;
    this.#routes = routes && createRouteTable(routes);
    this.#members = accounts.map((account): Member => ({
      ...account,
      standing: createAccountStanding(now),
      ceiling: new FairCeiling(account, { maxWaitMs, now }),
    }));
    if (this.#members.length === 0) throw new Error('a pool needs an account');
    if (routes !== undefined || accounts.some(({ client }) => client.refusalFor !== undefined)) {
      this.refusalFor = (asked) => this.#refusalFor(asked);
    }
    this.#shared = this.#members.filter(({ onlyFor }) => onlyFor === undefined);
    for (const member of this.#members) {
      options.onState(member.name, 'available');
      for (const customer of new Set(member.onlyFor)) {
        this.#reserved.set(customer, [...(this.#reserved.get(customer) ?? []), member]);
      }
    }
  }

  /** The accounts that may serve the customer, and can serve the call. */
  #membersFor(call: AskedOf): readonly Member[] {
    const members = this.#membersOf(call);
    if (this.refusalFor === undefined) return members;
    return members.filter(({ client }) => client.refusalFor?.(call) === undefined);
  }

  #membersOf(asked: AskedOf): readonly Member[] {
    const members = this.#reserved.get(asked.accountId) ?? this.#shared;
    return this.#routes === undefined ? members : this.#routes.within(members, asked);
  }

  #inOrder(call: UpstreamCall): readonly Member[] {
    const members = this.#membersFor(call);
    if (this.#routes === undefined) return inOrderFor(members, call.keyId);
    return this.#routes.inOrder(members, call);
  }

  mayAnswer(asked: AskedOf): readonly string[] {
    return this.#membersFor(asked).map(({ name }) => name);
  }

  /**
   * If no account can serve the call, what the last of them lacks. If its fences leave none, none
   * serves its model.
   */
  #refusalFor(asked: AskedOf): Refusal | undefined {
    let refusal: Refusal | undefined = newRefusal('upstream_lacks_model', {
      param: 'model',
      model: asked.model,
    });
    for (const { client } of this.#membersOf(asked)) {
      refusal = client.refusalFor?.(asked);
      if (refusal === undefined) return undefined;
    }
    return refusal;
  }

  send(call: UpstreamCall, handler: Dispatcher.DispatchHandler): void {
    this.#serve(call, handler).catch((error: unknown) => {
      handler.onResponseError?.(NO_CONTROLLER, toError(error));
    });
  }

  async #serve(call: UpstreamCall, handler: Dispatcher.DispatchHandler): Promise<void> {
    /** Accounts that have not been tried, in the order of the route or of the key. */
    let rest = this.#inOrder(call);
    const failed: FailedAttempt[] = [];
    let deadline = Infinity;
    for (;;) {
      const member = chosenOf(rest, call);
      if (member === undefined) break;
      const passage = passageOf(member, call);
      enter(member, call, 'then' in passage ? await passage : passage);
      const sentAt = this.#options.now();
      if (failed.length === 0) deadline = sentAt + MOVE_DEADLINE_MS;
      const outcome = read(member, call, await attempt(member, call, handler));
      const cause = this.#judge(member, call, outcome, sentAt);
      if (usesNoTokens(outcome)) member.ceiling.correct(-expectedTokens(call));
      if (outcome.outcome === 'accepted' || !mayMove(member, outcome)) {
        this.#conclude(call, outcome, failed);
        return;
      }
      failed.push({ member, outcome, cause });
      rest = rest.filter((each) => each !== member);
      if (failed.length > MOST_MOVES || this.#options.now() >= deadline) break;
      await this.#pause(rest, call);
    }
    this.#giveUp(call, failed);
  }

  async #pause(rest: readonly Member[], call: UpstreamCall): Promise<void> {
    if (chosenOf(rest, call) === undefined) return;
    const ms = this.#options.jitterMs();
    if (ms > 0) await sleep(ms);
  }

  /** The request stays with this answer. */
  #conclude(call: UpstreamCall, outcome: ReadOutcome, failed: readonly FailedAttempt[]): void {
    call.body.drop();
    if (outcome.outcome !== 'accepted') outcome.replay();
    if (!isServed(outcome)) return;
    for (const { member, cause } of failed) {
      if (cause === undefined) continue;
      member.standing.servedElsewhere(call, cause);
      this.#options.onState(member.name, member.standing.state());
    }
  }

  /**
   * No account is left. A limit is passed on with its wait, because the client can act on it. But
   * an account that is only overloaded may serve the request long before a limit ends.
   */
  #giveUp(call: UpstreamCall, failed: readonly FailedAttempt[]): void {
    if (failed.length === 0) throw this.#busyFor(call);
    const limitMs = this.#limitMsFor(call, failed);
    const answer =
      failed.findLast(({ cause }) => cause === 'overload') ??
      (limitMs === undefined ? failed.at(-1) : failed.findLast(({ cause }) => cause === undefined));
    if (answer === undefined) throw new UpstreamBusyError(limitMs ?? 0, 'limit');
    call.account = answer.member.name;
    answer.outcome.replay();
  }

  /** No account was tried. A moment ago, all had waits, but some may have ended since. */
  #busyFor(call: UpstreamCall): UpstreamBusyError {
    const waits = this.#membersFor(call).map(({ standing }) => standing.wait(call));
    const isLimit = waits.every(({ cause }) => cause === 'limit');
    const ms = Math.min(...waits.map((wait) => wait.ms));
    return new UpstreamBusyError(ms, isLimit ? 'limit' : 'busy');
  }

  /**
   * The shortest time after which the limits of an account may admit the request; `undefined` if
   * none is limited.
   */
  #limitMsFor(call: UpstreamCall, failed: readonly FailedAttempt[]): number | undefined {
    const waits: number[] = [];
    let hasRoom = false;
    for (const member of this.#membersFor(call)) {
      const tried = failed.find((each) => each.member === member);
      const { ms, cause } = member.standing.wait(call);
      if (tried?.cause === 'limit') waits.push(limitMsOf(tried.outcome) ?? UNNAMED_LIMIT_MS);
      else if (tried === undefined && ms === 0) hasRoom = true;
      else if (tried === undefined && cause === 'limit') waits.push(ms);
    }
    if (waits.length === 0) return undefined;
    return hasRoom ? 0 : Math.min(...waits);
  }

  /** @returns why it failed, if the request itself is not the cause and bytes were sent */
  #judge(
    { name, standing }: Member,
    call: UpstreamCall,
    outcome: ReadOutcome,
    sentAt: number,
  ): RefusalCause | undefined {
    const cause = causeOf(outcome);
    this.#options.onAnswer(name, 'status' in outcome ? outcome.status : 0);
    if (outcome.outcome === 'not_sent') standing.unreachable();
    else if (cause !== undefined) standing.refused(call, cause, limitMsOf(outcome));
    else if (isServed(outcome)) standing.served(call, sentAt);
    else standing.answered(call, sentAt);
    this.#options.onState(name, standing.state());
    return cause;
  }

  answersTo(call: UpstreamCall): UpstreamAnswers {
    const member = this.#members.find(({ name }) => name === call.account) ?? this.#members[0];
    if (member === undefined) throw new Error('a pool needs an account');
    return member.client.answersTo(call);
  }

  used(call: UpstreamCall, tokens: number): void {
    const member = this.#members.find(({ name }) => name === call.account);
    member?.ceiling.correct(tokens - expectedTokens(call));
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map(({ client }) => client.close()));
  }
}

/** The first account that takes the request; one that is avoided only if no other takes it. */
function chosenOf(rest: readonly Member[], call: UpstreamCall): Member | undefined {
  const open = rest.filter(({ standing }) => standing.wait(call).ms === 0);
  return open.find(({ standing }) => !standing.isAvoided(call)) ?? open[0];
}

/** Room under the ceiling of the account, once there is some. */
function passageOf(member: Member, call: UpstreamCall): Passage | Promise<Passage> {
  // The provider limits the counting of tokens separately.
  if (call.operation === 'count_tokens') return { outcome: 'passed' };
  return member.ceiling.pass(call, expectedTokens(call));
}

/** Must be called right before the request is sent to the account. */
function enter(member: Member, call: UpstreamCall, passage: Passage): void {
  if (passage.outcome === 'late') {
    throw call.client.destroyed
      ? new ClientGoneError()
      : new UpstreamBusyError(passage.retryAfterMs, 'busy');
  }
  if (call.client.destroyed) {
    member.ceiling.correct(-expectedTokens(call));
    throw new ClientGoneError();
  }
  call.account = member.name;
  member.standing.sent(call);
}

function attempt(
  { client }: Member,
  call: UpstreamCall,
  handler: Dispatcher.DispatchHandler,
): Promise<AttemptOutcome> {
  return new Promise((resolve) => {
    // The call keeps its body for another account.
    client.send({ ...call, body: call.body.copy() }, new AccountAttempt(handler, resolve));
  });
}

function read({ client }: Member, call: UpstreamCall, outcome: AttemptOutcome): ReadOutcome {
  if (outcome.outcome !== 'refused') return outcome;
  const { status, headers, body } = outcome;
  return { ...outcome, failure: client.answersTo(call).readFailure(status, headers, body) };
}

/** Whether nothing can have been billed, or the operator bears what is billed twice. */
function mayMove(
  { unclearFailures }: Member,
  outcome: Exclude<ReadOutcome, { readonly outcome: 'accepted' }>,
): boolean {
  switch (outcome.outcome) {
    case 'not_sent':
      return true;
    case 'unanswered':
      return unclearFailures === 'move';
    case 'refused':
      if (outcome.failure.cause === 'request') return false;
      return outcome.failure.isApiError || unclearFailures === 'move';
  }
}

function causeOf(outcome: ReadOutcome): RefusalCause | undefined {
  if (outcome.outcome === 'unanswered') return 'overload';
  if (outcome.outcome !== 'refused') return undefined;
  const { cause, isApiError } = outcome.failure;
  if (cause === 'request') return undefined;
  // That the account may not use the model counts for the model as an overload does. But a client
  // may cause a 4xx of something in between, such as a firewall.
  return cause === 'unknown' && (isApiError || outcome.status >= 500) ? 'overload' : cause;
}

function isServed(outcome: ReadOutcome): boolean {
  return outcome.outcome === 'accepted' && outcome.status < 400;
}

function limitMsOf(outcome: ReadOutcome): number | undefined {
  if (outcome.outcome !== 'refused' || outcome.failure.outcome !== 'replace') return undefined;
  const { limitSeconds } = outcome.failure;
  return limitSeconds === undefined ? undefined : limitSeconds * 1000;
}

/**
 * Rendezvous hashing: each key has its own order of accounts. If an account is added or removed,
 * only keys that begin or cease to use it move.
 */
function inOrderFor(members: readonly Member[], keyId: string): readonly Member[] {
  return members
    .map((member) => ({ member, weight: weightOf(member.name, keyId) }))
    .sort((a, b) => (a.weight < b.weight ? 1 : -1))
    .map(({ member }) => member);
}

function weightOf(account: string, keyId: string): string {
  return createHash('sha256').update(`${account}\n${keyId}`).digest('hex');
}

/** Of a request that failed on its way, nobody knows whether it used tokens. */
function usesNoTokens(outcome: AttemptOutcome): boolean {
  if (outcome.outcome === 'accepted') return outcome.status >= 400;
  return outcome.outcome !== 'unanswered';
}

function expectedTokens({ operation, bodyBytes }: UpstreamCall): number {
  // The provider limits the counting of tokens separately.
  if (operation === 'count_tokens') return 0;
  return Math.min(MOST_EXPECTED_TOKENS, Math.ceil(bodyBytes / BYTES_PER_TOKEN));
}
