/**
 * One exchange with the upstream, from sending the request to writing the end of the response.
 *
 * The usage object determines the charge, so the bytes that carry it are sent only when the charge
 * is durable. In a plain response these are the whole body; in a stream, the final usage event and
 * everything after it. All bytes before them are sent as they arrive, except that output of the
 * event-loop tick in which the stream ends is sent together with its end, unless the ledger is
 * slow. If the client disconnects, the upstream is still read, for a limited time. If its response
 * ends in that time, the exact usage is charged.
 */

import type { Response } from 'express';
import { formatUsd } from '@gateway/billing';
import type { StreamEnd, UsageReading, FinishedResponse } from '@gateway/translator';
import type { SkimmedMessage } from '@gateway/translator/native';
import { errorCode } from '../../base/error-code.js';
import { newRefusal } from '../../base/errors/refusal.js';
import type { Refusal } from '../../base/errors/refusal.js';
import { HOUR_MS } from '../../base/times.js';
import { requestIdHeaders, retryHeaders } from '../../http/refusal.js';
import type { ResponseFormat, ResponseReading, StreamOutput } from '../../http/response-format.js';
import type { ExchangeReport, LossReason, ReportedError } from '../../observe/exchange-report.js';
import { UpstreamBusyError, refusalOfConnectionError } from '../../upstream/client.js';
import { CredentialError } from '../../upstream/homes/credentials/renewed-token.js';
import type { UpstreamClient } from '../../upstream/client.js';
import { isLongWait } from '../../upstream/upstream-limit.js';
import type { UpstreamAnswers, UpstreamCall, UpstreamFailure } from '../../upstream/upstream.js';
import { ClientResponse } from './client-response.js';
import type { RelayParts, RelayPatience } from './relay-parts.js';
import { RESPONSE_UNUSABLE, quarantine, settleCharge } from './settle-charge.js';
import type { SettledExchange, SettledResponse } from './settle-charge.js';
import { UpstreamResponse } from './upstream-response.js';
import type { UpstreamListener, UpstreamOutcome } from './upstream-response.js';

export interface RelayJob extends SettledExchange {
  readonly upstream: UpstreamClient;
  readonly call: UpstreamCall;
  readonly format: ResponseFormat;
  readonly res: Response;
  /** Keeps a complete response that was charged, before its end is sent. Never rejects. */
  readonly keep?: ((response: FinishedResponse) => Promise<void>) | undefined;
}

export const RELAY_PATIENCE: RelayPatience = {
  drainMs: 2 * HOUR_MS,
  clientPausesMs: 30_000,
  // Proxies give up a silent response after 20 s or more.
  streamSilenceMs: 10_000,
};

/** The fault of a response that was charged, but not passed on as a whole. */
const TOO_LARGE = 'the response, or one of its events, was too large to pass on';
const RESPONSE_TOO_LARGE = newRefusal('upstream_response_too_large');
/**
 * Most charges commit within this time. If one takes longer, output that carries no usage is sent
 * meanwhile.
 */
const PROMPT_CHARGE_MS = 100;

/**
 * Resolves when the exchange is over: the charge is durable or there is none, and the end of the
 * response was written or the client has left. Until then the key keeps its lease.
 */
export function relay(exchange: RelayJob, parts: RelayParts): Promise<ExchangeReport> {
  return new Promise((resolve, reject) => {
    new Relay(exchange, parts, { resolve, reject }).start();
  });
}

type FailedStream = Extract<StreamEnd<StreamOutput>, { readonly outcome: 'failed' }>;

interface Completion {
  readonly resolve: (report: ExchangeReport) => void;
  readonly reject: (error: unknown) => void;
}

class Relay implements UpstreamListener {
  readonly #exchange: RelayJob;
  readonly #parts: RelayParts;
  readonly #completion: Completion;
  readonly #upstream: UpstreamResponse;
  readonly #client: ClientResponse;
  readonly #sentAt: number;
  #fault: string | undefined;
  #keepAlive: NodeJS.Timeout | undefined;
  /** Whether the stream had output since the last look of {@link #startKeepAlive}. */
  #hasOutput = true;
  /** Keep-alive events were sent between the upstream's end and the end of the stream. */
  #wasKeptAliveAtEnd = false;

  constructor(exchange: RelayJob, parts: RelayParts, completion: Completion) {
    const { format, res, call, upstream } = exchange;
    const { memory, patience, now } = parts;
    this.#exchange = exchange;
    this.#parts = parts;
    this.#completion = completion;
    this.#sentAt = now();
    const openMemory = () => memory.open(call.accountId);
    const memoryWaitMs = patience.clientPausesMs;
    this.#upstream = new UpstreamResponse(
      { upstream, call, format, openMemory, memoryWaitMs, now },
      this,
    );
    this.#client = new ClientResponse(res, {
      accountId: call.accountId,
      patience,
      memory,
      upstream: this.#upstream,
      onLeave: () => {
        if (!this.#upstream.isOver) this.#upstream.limitTo(patience.drainMs);
      },
    });
  }

  start(): void {
    this.#exchange.upstream.send(this.#exchange.call, this.#upstream);
  }

  onStream(): void {
    this.#client.startStream(this.#idHeaders());
    this.#startKeepAlive();
  }

  /**
   * An upstream may be silent, and its pings and hidden thinking give no output in a translated
   * stream. Clients and proxies give up a silent stream, some within 20 seconds. See
   * docs/decisions/0053.
   *
   * An interval of half the time checks whether anything was sent, because a timer would have to be
   * reset for every chunk. Node keeps all intervals of one length in one list with one timer.
   */
  #startKeepAlive(): void {
    this.#keepAlive = setInterval(() => {
      if (!this.#hasOutput) this.#sendKeepAlive();
      this.#hasOutput = false;
    }, this.#parts.patience.streamSilenceMs / 2);
  }

  #sendKeepAlive(): void {
    // An event cannot be inserted into another one, of which a part was passed on.
    if (this.#client.hasLeft || this.#upstream.isWithinEvent) return;
    const { format, requestId } = this.#exchange;
    this.#wasKeptAliveAtEnd = this.#upstream.isOver;
    this.#client.flush();
    this.#client.write(format.keepAlive(requestId));
  }

  onOutput(output: StreamOutput): void {
    if (output.length > 0) this.#hasOutput = true;
    this.#client.queue(output);
  }

  onEnd(outcome: UpstreamOutcome): void {
    this.#client.upstreamIsOver();
    this.#finish(outcome).catch((error: unknown) => {
      clearInterval(this.#keepAlive);
      this.#upstream.memory?.release();
      this.#completion.reject(error);
    });
  }

  async #finish(outcome: UpstreamOutcome): Promise<void> {
    const { lastError } = this.#upstream;
    if (lastError !== undefined) this.#fault = faultOf(lastError);
    switch (outcome.outcome) {
      case 'stream':
        return this.#finishStream(outcome.end);
      case 'body':
        return outcome.status === 200
          ? this.#finishBody(outcome.body)
          : this.#relayFailure(outcome.status, outcome.body);
      case 'too_large':
        return this.#finishTooLarge(outcome.message);
      case 'failed':
        return this.#refuseAfter(outcome.error);
    }
  }

  #refuseAfter(error: Error): void {
    const refusal = refusalOfConnectionError(error);
    const isLimit = error instanceof UpstreamBusyError && error.isLimit;
    this.#refuse(refusal, {
      loss: this.#lossOfBody(),
      limitedForSeconds: isLimit ? this.#limitToReport(refusal) : undefined,
      operatorMustAct: error instanceof CredentialError,
    });
  }

  /** How the account that answered writes its answers. */
  get #answers(): UpstreamAnswers {
    const { upstream, call } = this.#exchange;
    return upstream.answersTo(call);
  }

  get #isPaid(): boolean {
    return this.#exchange.call.operation === 'messages';
  }

  /**
   * A response that broke off after its head may have cost the operator, unless the request only
   * counted tokens.
   */
  #lossOfBody(): LossReason | undefined {
    return this.#isPaid && this.#upstream.status === 200 ? 'truncated' : undefined;
  }

  async #finishStream(end: StreamEnd<StreamOutput>): Promise<void> {
    if (end.outcome === 'failed') {
      this.#closeFailedStream(end);
      return;
    }
    // Charged like every other stream: a client can cause such events.
    if (end.error !== undefined) this.#fault = TOO_LARGE;
    const { format, requestId } = this.#exchange;
    const timer = setTimeout(() => {
      this.#client.flush();
    }, PROMPT_CHARGE_MS);
    const settled = await this.#settle(end.usage, end, end.tail).finally(() => {
      clearTimeout(timer);
    });
    if (settled.outcome === 'charged') {
      const repeated = this.#wasKeptAliveAtEnd ? format.repeatTail?.() : undefined;
      const tail = repeated ?? end.tail;
      const charged = format.addCharge?.(tail, formatUsd(settled.charge));
      this.#closeStream(charged ?? tail, { charged: settled });
    } else {
      const event = format.errorEvent(settled.refusal, requestId);
      this.#closeStream([event], { loss: settled.loss });
    }
  }

  /** Replaces an error event if the same error would be replaced as a response (decision 0006). */
  #closeFailedStream({ error, cause, tail }: FailedStream): void {
    if (cause !== 'error_event') {
      this.#closeStream(tail, { loss: cause });
      return;
    }
    const { format, requestId } = this.#exchange;
    const body = Buffer.from(JSON.stringify({ error }));
    const failure = this.#answers.readFailure(200, this.#upstream.headers, body);
    this.#fault = failure.fault;
    if (failure.outcome === 'relay') {
      this.#closeStream(tail, { loss: cause });
      return;
    }
    const event = format.errorEvent(failure.refusal, requestId);
    this.#closeStream([event], { loss: cause, ...this.#factsForOperator(failure) });
  }

  /**
   * A client can make the upstream's response large, by the documents that it asks for. So the
   * usage of a response that is too large to pass on is charged all the same.
   */
  async #finishTooLarge(skimmed: SkimmedMessage | undefined): Promise<void> {
    this.#fault = TOO_LARGE;
    if (skimmed === undefined || !this.#isPaid) {
      this.#refuse(RESPONSE_UNUSABLE, { loss: 'too_large' });
      return;
    }
    const message = this.#answers.readSkimmed?.(skimmed) ?? skimmed;
    const settled = await this.#settle(message.usage, message, undefined);
    if (settled.outcome === 'lost') this.#refuse(settled.refusal, { loss: settled.loss });
    else this.#refuse(RESPONSE_TOO_LARGE, { charged: settled });
  }

  /**
   * Not `async`: an async function keeps its arguments until it ends, so the upstream's body would
   * be in memory beside its translation until the charge is durable.
   */
  #finishBody(body: Buffer): Promise<void> {
    const reading = this.#exchange.format.readResponse(this.#answers.readBody?.(body) ?? body);
    if (reading.outcome !== 'malformed') {
      this.#upstream.memory?.resize(Buffer.byteLength(reading.body));
    }
    return this.#finishReading(reading);
  }

  async #finishReading(reading: ResponseReading): Promise<void> {
    if (reading.outcome === 'malformed') {
      this.#fault = reading.reason;
      if (!this.#isPaid) {
        this.#refuse(RESPONSE_UNUSABLE, {});
        return;
      }
      await quarantine(reading.reason, this.#exchange, this.#parts);
      this.#refuse(RESPONSE_UNUSABLE, { loss: 'malformed' });
      return;
    }
    if (reading.outcome === 'free') {
      this.#closeWithBody(reading.body, {}, {});
      return;
    }
    const settled = await this.#settle(reading.usage, reading, reading.body);
    if (settled.outcome === 'lost') {
      this.#refuse(settled.refusal, { loss: settled.loss });
      return;
    }
    const chargeUsd = formatUsd(settled.charge);
    this.#closeWithBody(
      this.#exchange.format.addCharge?.(reading.body, chargeUsd) ?? reading.body,
      {
        'x-gateway-charge-usd': chargeUsd,
        'x-gateway-balance-usd': formatUsd(settled.balance),
      },
      { charged: settled },
    );
  }

  /** A response that is not a success. Nothing is charged. */
  #relayFailure(status: number, received: Buffer): void {
    const body = this.#answers.readBody?.(received) ?? received;
    const failure = this.#answers.readFailure(status, this.#upstream.headers, body);
    this.#fault = failure.fault;
    if (failure.outcome === 'replace') {
      this.#refuse(failure.refusal, this.#factsForOperator(failure));
      return;
    }
    if (this.#exchange.format.dialect !== 'messages') {
      this.#refuse(failure.refusal, { error: upstreamError(failure.refusal) });
      return;
    }
    const { refusal } = failure;
    const error = upstreamError(refusal);
    this.#closeWithBody(body, retryHeaders(refusal), { status: refusal.status, error });
  }

  #factsForOperator({ refusal, cause }: UpstreamFailure): Partial<ExchangeReport> {
    return cause === 'limit'
      ? { limitedForSeconds: this.#limitToReport(refusal) }
      : { operatorMustAct: this.#mustOperatorAct(cause) };
  }

  /**
   * One customer alone must not cause the event that the operator's limits are reached: a request
   * that is too large meets them alone. But no such limit lasts long.
   */
  #limitToReport({ retryAfterSeconds = 0 }: Refusal): number | undefined {
    const isMetByOthers = this.#parts.limits.refused(this.#exchange.call.accountId);
    return isMetByOthers || isLongWait(retryAfterSeconds) ? retryAfterSeconds : undefined;
  }

  /** One customer alone must not cause the alert that the operator's account is refused. */
  #mustOperatorAct(cause: UpstreamFailure['cause']): boolean {
    if (cause === 'account') return true;
    const { accountId } = this.#exchange.call;
    return cause === 'permission' && this.#parts.refusals.refused(accountId);
  }

  async #settle(
    usage: UsageReading,
    {
      messageId,
      model,
      emptyRefusal,
    }: {
      readonly messageId: string | undefined;
      readonly model?: string | undefined;
      readonly emptyRefusal?: string | undefined;
    },
    /** The part of the response that is sent once it is charged; `undefined` if none is. */
    rest: StreamOutput | string | undefined,
  ): Promise<SettledResponse> {
    const response = {
      usage,
      messageId,
      model,
      emptyRefusal,
      streamed: this.#upstream.isStream,
      delivery: rest === undefined ? undefined : this.#client.deliveryWith(rest),
    };
    const settled = await settleCharge(response, this.#exchange, this.#parts);
    if (settled.outcome === 'charged') await this.#keep(settled.charge);
    return settled;
  }

  /** The client may refer to the response as soon as it has its end. */
  async #keep(charge: bigint): Promise<void> {
    const { keep, format } = this.#exchange;
    const finished = keep && format.finished?.();
    if (finished === undefined) return;
    const body = format.addCharge?.(finished.body, formatUsd(charge)) ?? finished.body;
    await keep?.({ ...finished, body });
  }

  #refuse(refusal: Refusal, facts: Partial<ExchangeReport>): void {
    const { requestId, format } = this.#exchange;
    this.#upstream.memory?.release();
    this.#client.refuse(refusal, { dialect: format.dialect, requestId });
    const { status, type, message } = refusal;
    this.#report({ status, error: { type, message, source: 'gateway' }, ...facts });
  }

  #closeWithBody(
    body: Uint8Array | string,
    headers: Readonly<Record<string, string>>,
    facts: Partial<ExchangeReport>,
  ): void {
    this.#client.sendBody(body, {
      status: facts.status ?? 200,
      headers: { ...this.#idHeaders(), ...headers },
      memory: this.#upstream.memory,
    });
    this.#report(facts);
  }

  #closeStream(tail: StreamOutput, facts: Partial<ExchangeReport>): void {
    clearInterval(this.#keepAlive);
    this.#upstream.memory?.release();
    this.#client.endStream(tail);
    this.#report(facts);
  }

  #report(facts: Partial<ExchangeReport>): void {
    const { status, isStream, firstByteAt } = this.#upstream;
    if (status === 200) {
      this.#parts.refusals.answered(this.#sentAt);
      this.#parts.limits.answered(this.#sentAt);
    }
    this.#completion.resolve({
      status: 200,
      streamed: isStream,
      clientLeft: this.#client.hasLeft,
      charged: undefined,
      loss: undefined,
      operatorMustAct: false,
      fault: this.#fault,
      upstreamStatus: status,
      upstreamRequestId: this.#upstreamRequestId(),
      upstreamProvider: this.#answers.providerName,
      upstreamFirstByteMs: firstByteAt === undefined ? undefined : firstByteAt - this.#sentAt,
      ...facts,
    });
  }

  #idHeaders(): Record<string, string> {
    return requestIdHeaders(this.#exchange.requestId, this.#upstreamRequestId());
  }

  #upstreamRequestId(): string | undefined {
    const id = this.#answers.requestIdOf(this.#upstream.headers);
    return typeof id === 'string' && /^[\w-]{1,128}$/.test(id) ? id : undefined;
  }
}

function upstreamError({ type, message }: Refusal): ReportedError {
  return { type, message, source: 'upstream' };
}

/** The error's code, such as `ECONNREFUSED` or `UND_ERR_HEADERS_TIMEOUT`, and its message. */
function faultOf(error: Error): string {
  const code = errorCode(error);
  return code === undefined ? error.message : `${code}: ${error.message}`;
}
