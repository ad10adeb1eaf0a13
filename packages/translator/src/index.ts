export type { Note, RequestProblem } from './note.js';
export type { EffortLevel, ModelTraits } from './traits.js';
export {
  translateRequest,
  type RequestTranslation,
  type TranslateRequestOptions,
} from './request.js';
export { REQUEST_FIELDS, type RequestField } from './request-fields.js';
export type { ResponseContext } from './response-context.js';
export {
  normalizeToolChoice,
  type NativeToolChoice,
  type ToolChoiceNormalization,
} from './tool-choice.js';
export { scanTopLevel } from './json-members.js';
export type { JsonScan, JsonShape, JsonSpan, ScanOptions } from './json-members.js';
export {
  CHAT_KEEP_ALIVE,
  MESSAGE_KEEP_ALIVE,
  chatErrorEvent,
  errorBody,
  messageErrorEvent,
  type ErrorDetails,
} from './errors.js';
export { finishReason, type FinishReason } from './finish-reason.js';
export { createMessageStreamTap, type TapOptions } from './message-stream-tap.js';
export {
  translateResponse,
  type ResponseTranslation,
  type TranslateResponseContext,
} from './response.js';
export { createSseParser, type ServerSentEvent, type SseParser } from './sse.js';
export {
  iterateThrough,
  transformThrough,
  type PieceOf,
  type PipeThroughOptions,
} from './pipe-through.js';
export type {
  FailureCause,
  MessageEnd,
  StreamEnd,
  StreamError,
  StreamPipe,
} from './stream-pipe.js';
export {
  createChatChunkStream,
  createChatStream,
  type ChatChunk,
  type ChatDelta,
  type ChatStreamError,
  type ChatStreamOptions,
} from './stream.js';
export { chatUsage, readUsage, type Usage, type UsageReading } from './usage.js';
