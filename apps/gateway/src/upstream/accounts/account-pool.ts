/**
 * Several accounts of one API, as one upstream (docs/decisions/0031). A key stays with one account,
 * because its prompt caches are there. A request moves to another account only if nothing of it was
 * accepted: it was never sent, or the account refused it as a whole.
 */

import { createHash } from 'node:crypto';
import type { Dispatcher } from 'undici';
import type { AccountTarget, CeilingLimits } from '../../config/upstream-target.js';
import { ClientGoneError, UpstreamBusyError } from '../client.js';
import type { UpstreamClient } from '../client.js';
import { RequestBody } from '../request-body.js';
import type { RefusalCause, UpstreamCall, UpstreamFailure } from '../upstream.js';
import { AccountAttempt } from './account-attempt.js';
import type { AttemptOutcome } from './account-attempt.js';
import { createAccountStanding } from './account-standing.js';
import type { AccountStanding, AccountState } from './account-standing.js';
import { FairCeiling } from './fair-ceiling.js';

export interface PooledAccount extends CeilingLimits, Pick<AccountTarget, 'name' | 'onlyFor'> {
  readonly client: UpstreamClient;
}

export interface AccountPoolOptions {
  /** Milliseconds from any origin. */
  readonly now: () => number;
  /** How long a request may wait for its share of an account's ceiling. */
  readonly maxWaitMs: number;
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
  readonly cause: RefusalCause | 'request';
};
type NotSent = AttemptOutcome & { readonly outcome: 'not_sent' };
type ReadOutcome = Exclude<AttemptOutcome, { readonly outcome: 'refused' }> | Refused;

/** What earlier attempts with the same request have shown. */
interface Earlier {
  readonly last?: Refused | NotSent;
  readonly refusals: readonly { readonly member: Member; readonly cause: RefusalCause }[];
}

/** Bytes of a prompt per token, to estimate its tokens before the upstream counts them. */
const BYTES_PER_TOKEN = 4;
/** An image or a PDF has far fewer tokens than its bytes suggest. */
const MOST_EXPECTED_TOKENS = 200_000;

export class AccountPool implements UpstreamClient {
  readonly #options: AccountPoolOptions;
  readonly #members: readonly Member[];
  readonly #reserved = new Map<string, Member[]>();
  readonly #shared: readonly Member[];
  /** Of any account: they are all of one API. */
  readonly #client: UpstreamClient;

  constructor(accounts: readonly PooledAccount[], options: AccountPoolOptions) {
    const { now, maxWaitMs } = options;
    this.#options = options;
    this.#members = accounts.map((account): Member => ({
      ...account,
      standing: createAccountStanding(now),
      ceiling: new FairCeiling(account, { maxWaitMs, now }),
    }));
    const [first] = this.#members;
    if (first === undefined) throw new Error('a pool needs an account');
    this.#client = first.client;
    this.#shared = this.#members.filter(({ onlyFor }) => onlyFor === undefined);
    for (const member of this.#members) {
      options.onState(member.name, 'available');
      for (const customer of new Set(member.onlyFor)) {
        this.#reserved.set(customer, [...(this.#reserved.get(customer) ?? []), member]);
      }
    }
  }

  #membersFor({ accountId }: UpstreamCall): readonly Member[] {
    return this.#reserved.get(accountId) ?? this.#shared;
  }

  send(call: UpstreamCall, handler: Dispatcher.DispatchHandler): void {
    this.#attempt(inOrderFor(this.#membersFor(call), call.keyId), call, handler).catch(
      (error: unknown) => {
        handler.onResponseError?.(NO_CONTROLLER, toError(error));
      },
    );
  }

  /** @param rest - Accounts that have not been tried, in the order of the key. */
  async #attempt(
    rest: readonly Member[],
    call: UpstreamCall,
    handler: Dispatcher.DispatchHandler,
    { last, refusals }: Earlier = { refusals: [] },
  ): Promise<void> {
    const open = rest.filter(({ standing }) => standing.waitMs(call) === 0);
    const member = open.find(({ standing }) => !standing.isAvoided()) ?? open[0];
    if (member === undefined) {
      this.#giveUp(call, handler, last);
      return;
    }
    // The provider limits the counting of tokens separately.
    const isCounting = call.operation === 'count_tokens';
    const expected = isCounting ? 0 : expectedTokens(call);
    if (!isCounting) {
      const passage = await member.ceiling.pass(call, expected);
      if (passage.outcome === 'late') {
        throw call.client.destroyed
          ? new ClientGoneError()
          : new UpstreamBusyError(passage.retryAfterMs);
      }
    }
    if (call.client.destroyed) {
      member.ceiling.correct(-expected);
      throw new ClientGoneError();
    }
    // Sending a body releases it. Only this copy is sent, so the call keeps its body for another
    // account.
    const body = new RequestBody(call.body.peek(), () => undefined);
    call.account = member.name;
    const others = rest.filter((each) => each !== member);
    const sentAt = this.#options.now();
    const outcome = read(
      member,
      await new Promise<AttemptOutcome>((resolve) => {
        member.client.send({ ...call, body }, new AccountAttempt(handler, resolve));
      }),
    );
    this.#judge(member, call, outcome, sentAt);
    if (usesNoTokens(outcome)) member.ceiling.correct(-expected);
    if (outcome.outcome === 'not_sent') {
      await this.#attempt(others, call, handler, { last: outcome, refusals });
    } else if (outcome.outcome === 'refused' && outcome.cause !== 'request') {
      const { cause } = outcome;
      const known = [...refusals, { member, cause }];
      await this.#attempt(others, call, handler, { last: outcome, refusals: known });
    } else {
      call.body.drop();
      if (outcome.outcome === 'refused') outcome.replay();
      if (isServed(outcome)) {
        for (const { member: refusing, cause } of refusals) {
          refusing.standing.servedElsewhere(call, cause);
          this.#options.onState(refusing.name, refusing.standing.state());
        }
      }
    }
  }

  /**
   * No account is left. If the limits of one hold the request back, or no account was tried, passes
   * on the time until an account can be used again; otherwise, the last answer.
   */
  #giveUp(
    call: UpstreamCall,
    handler: Dispatcher.DispatchHandler,
    last: Refused | NotSent | undefined,
  ): void {
    const waits = this.#membersFor(call).map(({ standing }) => standing.waitMs(call));
    const limited = waits.filter((ms) => ms > 0);
    // All were waited for a moment ago, but a wait may have ended since.
    if (last === undefined) throw new UpstreamBusyError(Math.min(...waits));
    if (last.outcome === 'refused' && limited.length > 0) {
      throw new UpstreamBusyError(Math.min(...limited));
    }
    if (last.outcome === 'not_sent') handler.onResponseError?.(NO_CONTROLLER, last.error);
    else last.replay();
  }

  #judge(
    { name, standing }: Member,
    call: UpstreamCall,
    outcome: ReadOutcome,
    sentAt: number,
  ): void {
    switch (outcome.outcome) {
      case 'accepted':
        this.#options.onAnswer(name, outcome.status);
        if (outcome.status < 500) standing.answered(sentAt);
        break;
      case 'refused':
        this.#options.onAnswer(name, outcome.status);
        if (outcome.cause === 'request') standing.answered(sentAt);
        else standing.refused(call, outcome.cause, retryAfterMsOf(outcome.failure));
        break;
      case 'not_sent':
        this.#options.onAnswer(name, 0);
        standing.unreachable();
        break;
      case 'failed':
        this.#options.onAnswer(name, 0);
        break;
    }
    this.#options.onState(name, standing.state());
  }

  openStream(headers: Parameters<UpstreamClient['openStream']>[0]) {
    return this.#client.openStream(headers);
  }

  readFailure(...response: Parameters<UpstreamClient['readFailure']>) {
    return this.#client.readFailure(...response);
  }

  used(call: UpstreamCall, tokens: number): void {
    const member = this.#members.find(({ name }) => name === call.account);
    member?.ceiling.correct(tokens - expectedTokens(call));
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map(({ client }) => client.close()));
  }
}

function read({ client }: Member, outcome: AttemptOutcome): ReadOutcome {
  if (outcome.outcome !== 'refused') return outcome;
  const { status, headers, body } = outcome;
  const failure = client.readFailure(status, headers, body);
  return { ...outcome, failure, cause: failure.outcome === 'relay' ? 'request' : failure.cause };
}

function isServed(outcome: ReadOutcome): boolean {
  return outcome.outcome === 'accepted' && outcome.status < 400;
}

function retryAfterMsOf({ refusal }: UpstreamFailure): number | undefined {
  return refusal.retryAfterSeconds === undefined ? undefined : refusal.retryAfterSeconds * 1000;
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
  return outcome.outcome !== 'failed';
}

function expectedTokens({ bodyBytes }: UpstreamCall): number {
  return Math.min(MOST_EXPECTED_TOKENS, Math.ceil(bodyBytes / BYTES_PER_TOKEN));
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** For exchanges that end while they have no connection. */
const NO_CONTROLLER: Dispatcher.DispatchController = {
  aborted: true,
  paused: false,
  reason: null,
  rawHeaders: null,
  rawTrailers: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};
