/** Answers a request for a message, or for the number of its tokens, in the words of its place. */

import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { INVALID_JSON, problemOf } from './client-request.js';
import type { ApiVersion } from './client-request.js';
import { billedTokens } from './message/billed-usage.js';
import { BINDING_CONTROLS, checkThinking, withoutDropped } from './message/bound-thinking.js';
import type { InputTransformation } from './message/bound-thinking.js';
import { asArray, asObject, isObject } from './message/message.js';
import type { ContentBlock, JsonObject } from './message/message.js';
import { sendError, sendJson, sendMessage, sendParts, sendStream } from './message/responses.js';
import type { Answering } from './message/responses.js';
import { resolveScript } from './message/script.js';
import type { ScriptedReply } from './message/script.js';
import { JSON_HEADERS } from './message/wire.js';
import type { SentMessage, Wire } from './message/wire.js';
import { inferenceGeo, traitsOf } from './models/models.js';
import { createPromptCache } from './prompt-cache.js';
import { composeReply, idOf } from './reply.js';
import type { Reply } from './reply.js';
import type { Simulation } from './simulation.js';

/** A request as Anthropic's own API would get it, and the response to it. */
export interface Asked extends Answering {
  readonly req: IncomingMessage;
  /** Undefined if the body is not a JSON object. */
  readonly request: JsonObject | undefined;
  readonly api: ApiVersion;
}

export function serveCount({ models, lenient }: Simulation, asked: Asked): void {
  const { request, api } = asked;
  const problem = problemOf(request, api, { endpoint: 'count_tokens', models, lenient });
  if (problem !== undefined) sendError(asked, problem);
  else sendJson(asked, 200, { input_tokens: countTokens(request ?? {}) });
}

export async function serveMessage(
  { options, models, lenient, journal, cache, signatures, scripts }: Simulation,
  asked: Asked,
): Promise<void> {
  const { req, requestId, request, api } = asked;
  const chosen = resolveScript(scripts.choose(req, request ?? {}));
  const script = { ...chosen, eventDelayMs: chosen.eventDelayMs ?? options.eventDelayMs ?? 0 };
  await pause(script.delayMs ?? options.latencyMs ?? 0);
  if (script.body !== undefined) {
    const headers = { ...JSON_HEADERS, ...script.headers };
    await sendParts(asked, { status: script.status, headers }, [script.body], script);
    return;
  }
  if (script.error !== undefined) {
    sendError(asked, script.error, script);
    return;
  }
  const problem = problemOf(request, api, { endpoint: 'messages', models, lenient });
  if (request === undefined || problem !== undefined) {
    sendError(asked, problem ?? INVALID_JSON);
    return;
  }
  const check = checkThinking(request);
  const { signature } = check;
  const isBound = traitsOf(String(request['model']))?.bindsThinking === true;
  const forged = isBound || lenient.has('bound-thinking') ? undefined : signatures.problem(request);
  if (forged !== undefined) {
    sendError(asked, { type: 'invalid_request_error', message: forged });
    return;
  }
  const dropped = isBound ? check.dropped : [];
  const reply = composeReply(withoutDropped(request, dropped), cache, signature);
  const transformations = api.betas.includes(BINDING_CONTROLS) ? dropped : undefined;
  const message = composeMessage(request, script, { asked, reply, transformations });
  signatures.remember(asArray(message['content']));
  const isStream = request['stream'] === true;
  const isBilled = !isUnbilledRefusal(message) && (!isStream || script.streamError === undefined);
  const tokens = isBilled ? billedTokens(message.usage, reply.usage, script.billed) : undefined;
  // Before the bytes are sent, so that a client that has them finds the message in the reports.
  if (tokens !== undefined) {
    journal.addBilled({
      atMs: (options.now ?? Date.now)(),
      model: String(message['model']),
      tokens,
    });
  }
  const send = isStream ? sendStream : sendMessage;
  const isComplete = await send(asked, message, script);
  if (!isComplete || !isObject(message.usage)) return;
  journal.addUsage({
    requestId,
    messageId: String(message['id']),
    model: String(message['model']),
    streamed: isStream,
    usage: message.usage,
  });
}

/** The only categories of refusals before any output that the provider bills. */
const BILLED_REFUSALS: readonly unknown[] = ['bio', 'frontier_llm', 'reasoning_extraction'];

function isUnbilledRefusal(message: JsonObject): boolean {
  const { stop_reason: reason, content, stop_details: details } = message;
  const isEmpty = asArray(content).every((block) => asObject(block)['type'] === 'fallback');
  return (
    reason === 'refusal' && isEmpty && !BILLED_REFUSALS.includes(asObject(details)['category'])
  );
}

interface ComposedFrom {
  readonly asked: Asked;
  readonly reply: Reply;
  /** Only if the client asked for a report. */
  readonly transformations: readonly InputTransformation[] | undefined;
}

function composeMessage(
  request: JsonObject,
  script: ScriptedReply,
  { asked: { requestId, wire }, reply, transformations }: ComposedFrom,
): SentMessage {
  // Those of a script are sent as they are.
  const content = script.content ?? reply.content.map((block) => withIds(block, wire));
  const stopReason = script.stopReason ?? reply.stopReason;
  const isEmptyRefusal = stopReason === 'refusal' && content.length === 0;
  const usage = {
    ...reply.usage,
    // What the API counts for a refusal before any output.
    ...(isEmptyRefusal ? { output_tokens: 1, output_tokens_details: { thinking_tokens: 0 } } : {}),
    service_tier: 'standard',
    inference_geo: inferenceGeo(request),
    ...script.usage,
  };
  return {
    model: request['model'],
    id: wire.id(idOf('msg', requestId)),
    type: 'message',
    role: 'assistant',
    content,
    container: null,
    stop_reason: stopReason,
    stop_sequence: script.stopSequence === undefined ? reply.stopSequence : script.stopSequence,
    stop_details: script.stopDetails ?? reply.stopDetails,
    ...(script.withoutUsage === true ? {} : { usage }),
    diagnostics: null,
    ...(transformations === undefined ? {} : { input_transformations: transformations }),
  };
}

/** The block with the ids of its place. */
function withIds(block: ContentBlock, wire: Wire): ContentBlock {
  const { id, tool_use_id: call } = block;
  return {
    ...block,
    ...(typeof id === 'string' ? { id: wire.id(id) } : {}),
    ...(typeof call === 'string' ? { tool_use_id: wire.id(call) } : {}),
  };
}

/** The number of tokens of a request's input. */
export function countTokens(request: JsonObject): number {
  const counted = createPromptCache().account(request);
  return (
    counted.input_tokens + counted.cache_creation_input_tokens + counted.cache_read_input_tokens
  );
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await sleep(ms);
}
