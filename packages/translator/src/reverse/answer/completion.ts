/**
 * Translates a chat completion to a native message.
 *
 * https://platform.claude.com/docs/en/api/messages
 */

import { asText } from '../../wire/bytes.js';
import {
  inputText,
  isJsonObject,
  isTooDeep,
  type JsonObject,
  type JsonText,
  objectOf,
  objectsOf,
  parseObject,
  stringOf,
} from '../../wire/raw-json.js';
import type { StreamError } from '../../wire/stream-pipe.js';
import type { UsageReading } from '../../wire/usage.js';
import { clientToolName, type MessageContext } from '../context/message-context.js';
import { createCallIds } from './call-ids.js';
import { readChatError } from './errors.js';
import {
  messageIdOf,
  type NativeBlock,
  type StopReason,
  textBlock,
  toolUseBlock,
  writeMessage,
} from './message.js';
import { type Piece, piecesOf } from './pieces.js';
import { finishError, finishReasonOf, stopMembers } from './stop-reason.js';
import { nativeServiceTier, nativeUsage, readChatUsage } from './usage.js';

export type CompletionTranslation =
  | {
      readonly outcome: 'translated';
      /** JSON text of the native message. */
      readonly body: string;
      readonly usage: UsageReading;
      readonly messageId: string;
      readonly stopReason: StopReason | null;
    }
  /**
   * An error in a response with a success status, as aggregators send it, or a finish reason with
   * which the upstream says that it failed.
   */
  | { readonly outcome: 'error'; readonly error: StreamError }
  | { readonly outcome: 'malformed'; readonly reason: string };

/**
 * Translates the first choice in the body of a successful response.
 *
 * Content is in native order: thinking, text, calls. The arguments of calls become the `input`.
 * Arguments that are JSON text keep every digit; numbers in arguments that a server sends as an
 * object may lose digits. Arguments that are not a JSON object become `{"_raw": "<the text>"}`, and
 * empty ones `{}`. A refusal becomes `stop_details.explanation`, with the stop reason `refusal`. If
 * the usage is missing or invalid, the message's counts are null. Log probabilities, audio and
 * annotations are left out.
 */
export function translateCompletion(
  chatBody: string | Uint8Array,
  context: MessageContext,
): CompletionTranslation {
  const completion = parseObject(asText(chatBody));
  if (completion === undefined) return malformed('the body is not a JSON object');
  const { id, error, choices, usage: chatUsage } = completion;
  if (error != null) return { outcome: 'error', error: readChatError(error) };
  const choice = objectsOf(choices)[0];
  if (choice === undefined) return malformed('there is no choice');
  if (choice['error'] != null) return { outcome: 'error', error: readChatError(choice['error']) };
  const finishReason = finishReasonOf(choice);
  const failure = finishError(finishReason);
  if (failure !== undefined) return { outcome: 'error', error: failure };
  const { message } = choice;
  if (!isJsonObject(message)) return malformed('the choice has no message');

  const messageId = messageIdOf(id);
  const calls = readCalls(message, createCallIds(messageId), context);
  if (calls === undefined) return malformed('a call has no name, or arguments that are too deep');
  const stop = stopMembers(
    {
      finishReason,
      matchedStop: choice['stop_reason'],
      refusal: stringOf(message['refusal']),
      hasCalls: calls.length > 0,
    },
    context,
  );
  const usage = readChatUsage(chatUsage ?? choice['usage']);
  const tier = nativeServiceTier(completion['service_tier']);
  const body = writeMessage({
    id: messageId,
    type: 'message',
    role: 'assistant',
    model: context.model,
    content: [...joined(piecesOf(message)).map(blockOf), ...calls],
    ...stop,
    container: null,
    diagnostics: null,
    usage: nativeUsage(usage, tier),
  });
  return { outcome: 'translated', body, usage, messageId, stopReason: stop.stop_reason };
}

function malformed(reason: string): CompletionTranslation {
  return { outcome: 'malformed', reason };
}

type Call = NativeBlock<JsonText>;

/**
 * Leaves out calls without a name, which no client could answer. Undefined when there are calls but
 * none has a name, or when arguments are nested too deeply to be written.
 */
function readCalls(
  message: JsonObject,
  allocateId: (wanted: unknown) => string,
  context: MessageContext,
): Call[] | undefined {
  const calls: Call[] = [];
  const legacy = message['function_call'];
  const written = objectsOf(message['tool_calls']);
  if (written.length === 0 && isJsonObject(legacy)) written.push({ function: legacy });
  for (const call of written) {
    const called = objectOf(call['function']);
    const { arguments: input } = called;
    const name = clientToolName(context, stringOf(called['name']));
    if (name === '') continue;
    if (isTooDeep(input)) return undefined;
    calls.push(toolUseBlock(allocateId(call['id']), name, inputOf(input)));
  }
  return calls.length === 0 && written.length > 0 ? undefined : calls;
}

/** Some servers send an object instead of its JSON text. */
function inputOf(value: unknown): JsonText {
  if (isJsonObject(value)) return { json: JSON.stringify(value) };
  return { json: inputText(stringOf(value)) };
}

/** Joins adjacent pieces of one type, as a stream would. A signature ends its block. */
function joined(pieces: readonly Piece[]): Piece[] {
  const result: Piece[] = [];
  for (const piece of pieces) {
    const last = result.at(-1);
    if (last?.type === 'text' && piece.type === 'text') {
      result[result.length - 1] = { ...last, text: last.text + piece.text };
    } else if (last?.type === 'thinking' && piece.type === 'thinking' && last.signature === '') {
      result[result.length - 1] = { ...piece, thinking: last.thinking + piece.thinking };
    } else result.push(piece);
  }
  return result;
}

function blockOf(piece: Piece): NativeBlock<never> {
  return piece.type === 'text' ? textBlock(piece.text) : piece;
}
