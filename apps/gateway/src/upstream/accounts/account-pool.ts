/**
 * Several accounts of one API, as one upstream (docs/decisions/0031). A key stays with one account,
 * because its prompt caches are there. A request moves to another account only if nothing of it was
 * accepted: it was never sent, or the account refused it as a whole.
 */

import { createHash } from 'node:crypto';
import type { Dispatcher } from 'undici';
import { RequestBody } from '../request-body.js';
import { ClientGoneError, UpstreamBusyError } from '../client.js';
import type { UpstreamClient } from '../client.js';
import type { UpstreamCall, UpstreamFailure } from '../upstream.js';
import { AccountAttempt } from './account-attempt.js';
import type { AttemptOutcome } from './account-attempt.js';
import { createAccountStanding } from './account-standing.js';
import type { AccountStanding, AccountState } from './account-standing.js';
import { createFairCeiling } from './fair-ceiling.js';
import type { CeilingLimits, FairCeiling } from './fair-ceiling.js';

export interface PooledAccount extends CeilingLimits {
  readonly name: string;
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

/**
 * Why an account refused a request. `account`: its credential, quota or bill. `unknown`: its answer
 * cannot be read.
 */
type Cause = 'request' | 'account' | 'limit' | 'unknown';

type Refused = AttemptOutcome & { readonly outcome: 'refused' } & {
  readonly failure: UpstreamFailure;
  readonly cause: Cause;
};
type NotSent = AttemptOutcome & { readonly outcome: 'not_sent' };
type ReadOutcome = Exclude<AttemptOutcome, { readonly outcome: 'refused' }> | Refused;

/** What earlier attempts with the same request have shown. */
interface Earlier {
  readonly last?: Refused | NotSent;
  /** Accounts whose refusal could not be read. They or the request's content may be the cause. */
  readonly suspects: readonly Member[];
}

/** Bytes of a prompt per token, to estimate its tokens before the upstream counts them. */
const BYTES_PER_TOKEN = 4;
/** An image or a PDF has far fewer tokens than its bytes suggest. */
const MOST_EXPECTED_TOKENS = 200_000;

export function createAccountPool(
  accounts: readonly PooledAccount[],
  options: AccountPoolOptions,
): UpstreamClient {
  const { now, maxWaitMs } = options;
  const members = accounts.map((account): Member => ({
    ...account,
    standing: createAccountStanding(now),
    ceiling: createFairCeiling(account, { maxWaitMs, now }),
  }));
  const [first] = members;
  if (first === undefined) throw new Error('a pool needs an account');
  const { client } = first;
  for (const { name } of members) options.onState(name, 'available');

  function send(call: UpstreamCall, handler: Dispatcher.DispatchHandler): void {
    attempt(inOrderFor(members, call.keyId), call, handler).catch((error: unknown) => {
      handler.onResponseError?.(NO_CONTROLLER, toError(error));
    });
  }

  /** @param rest - Accounts that have not been tried, in the order of the key. */
  async function attempt(
    rest: readonly Member[],
    call: UpstreamCall,
    handler: Dispatcher.DispatchHandler,
    { last, suspects }: Earlier = { suspects: [] },
  ): Promise<void> {
    const member = rest.find(({ standing }) => standing.waitMs() === 0);
    if (member === undefined) {
      giveUp(handler, last);
      return;
    }
    // The provider limits the counting of tokens separately.
    const isCounting = call.operation === 'count_tokens';
    const expected = isCounting ? 0 : expectedTokens(call);
    if (!isCounting) {
      const passage = await member.ceiling.pass(call.keyId, expected);
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
    const sentAt = now();
    const outcome = read(
      member,
      await new Promise<AttemptOutcome>((resolve) => {
        member.client.send({ ...call, body }, new AccountAttempt(handler, resolve));
      }),
    );
    judge(member, outcome, sentAt);
    if (usesNoTokens(outcome)) member.ceiling.correct(-expected);
    if (outcome.outcome === 'not_sent') {
      await attempt(others, call, handler, { last: outcome, suspects });
    } else if (outcome.outcome === 'refused' && outcome.cause !== 'request') {
      const suspected = outcome.cause === 'unknown' ? [...suspects, member] : suspects;
      await attempt(others, call, handler, { last: outcome, suspects: suspected });
    } else {
      call.body.drop();
      if (outcome.outcome === 'refused') outcome.replay();
      // This account serves the request, so its content was not why the others refused it.
      if (outcome.outcome === 'accepted' && outcome.status < 400) leaveOut(suspects);
    }
  }

  function leaveOut(suspects: readonly Member[]): void {
    for (const { name, standing } of suspects) {
      standing.unreadable();
      options.onState(name, standing.state());
    }
  }

  /**
   * No account is left. Passes on the last answer. If that was a limit, or no account was tried,
   * passes on the time until an account can be used again.
   */
  function giveUp(handler: Dispatcher.DispatchHandler, last: Refused | NotSent | undefined): void {
    if (last?.outcome === 'not_sent') handler.onResponseError?.(NO_CONTROLLER, last.error);
    else if (last?.outcome === 'refused' && last.cause !== 'limit') last.replay();
    else throw new UpstreamBusyError(Math.min(...members.map(({ standing }) => standing.waitMs())));
  }

  function judge({ name, standing }: Member, outcome: ReadOutcome, sentAt: number): void {
    switch (outcome.outcome) {
      case 'accepted':
        options.onAnswer(name, outcome.status);
        standing.answered(sentAt);
        break;
      case 'refused':
        options.onAnswer(name, outcome.status);
        if (outcome.cause === 'request') standing.answered(sentAt);
        else if (outcome.cause !== 'unknown') standing.failed(outcome.failure);
        break;
      case 'not_sent':
        options.onAnswer(name, 0);
        standing.unreachable();
        break;
      case 'failed':
        options.onAnswer(name, 0);
        break;
    }
    options.onState(name, standing.state());
  }

  return {
    openStream: (headers) => client.openStream(headers),
    readFailure: (...response) => client.readFailure(...response),
    send,
    used(call, tokens) {
      const member = members.find(({ name }) => name === call.account);
      member?.ceiling.correct(tokens - expectedTokens(call));
    },
    async close() {
      await Promise.all(members.map(({ client }) => client.close()));
    },
  };
}

function read({ client }: Member, outcome: AttemptOutcome): ReadOutcome {
  if (outcome.outcome !== 'refused') return outcome;
  const { status, headers, body } = outcome;
  const failure = client.readFailure(status, headers, body);
  return { ...outcome, failure, cause: causeOf(status, failure) };
}

function causeOf(status: number, failure: UpstreamFailure): Cause {
  if (failure.outcome !== 'replace') return 'request';
  if (failure.operatorMustAct) return 'account';
  return status === 429 ? 'limit' : 'unknown';
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
