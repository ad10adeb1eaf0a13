export type { Note, RequestProblem } from './reading/note.js';
export type { EffortLevel, ModelTraits } from './chat-client/request/traits.js';
export {
  translateRequest,
  type RequestTranslation,
  type TranslateRequestOptions,
} from './chat-client/request/request.js';
export type { ReasoningForm, ResponseContext } from './chat-client/response-context.js';
export type { Additions } from './wire/additions.js';
export type { CalledAs } from './wire/called-as.js';
export type { AddCachePoints } from './reading/cache-point.js';
export type { SchemaReader } from './reading/strict-schema-reading.js';
export type { ReadWebSearch } from './reading/web-search-reading.js';
export {
  normalizeToolChoice,
  type NativeToolChoice,
  type ToolChoiceNormalization,
} from './reading/tool-choice.js';
export { chatErrorEvent } from './chat-client/answer/error-events.js';
export { errorBody, type ErrorDetails } from './wire/error-body.js';
export { finishReason, type FinishReason } from './chat-client/answer/finish-reason.js';
export { translateResponse, type ResponseTranslation } from './chat-client/answer/response.js';
export type { TranslateResponseContext } from './chat-client/answer/chunk-encoder.js';
export type {
  FailureCause,
  MessageEnd,
  StreamEnd,
  StreamError,
  StreamPipe,
} from './wire/stream-pipe.js';
export { createChatStream } from './chat-client/answer/stream.js';
export type { EventStreamOptions } from './message/event-pipe.js';
export {
  chatUsage,
  readUsage,
  type ModelUsage,
  type UncountedUsage,
  type Usage,
  type UsageReading,
  type UsageRemark,
} from './wire/usage.js';
