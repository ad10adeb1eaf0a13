// Requests of both formats.
export type { Note, ProblemCode, RequestProblem } from './reading/note.js';
export type { EffortLevel, ModelTraits } from './chat-client/request/traits.js';
export {
  translateRequest,
  type RequestTranslation,
  type TranslateRequestOptions,
} from './chat-client/request/request.js';
export type { Encoding, Stringify, TakePart } from './chat-client/request/native-request.js';
export type { ReasoningForm, ResponseContext } from './chat-client/response-context.js';
export type { Additions } from './wire/additions.js';
export type { CalledAs } from './wire/called-as.js';
export type { AddCachePoints, CacheableRequest, CachePointHolder } from './reading/cache-point.js';
export type {
  SchemaReader,
  AnswerSchema,
  SchemaPlace,
  StrictSchema,
} from './reading/strict-schema-reading.js';
export type { ReadWebSearch, UserLocation, WebSearchTool } from './reading/web-search-reading.js';
export {
  normalizeToolChoice,
  type NativeToolChoice,
  type ToolChoiceNormalization,
} from './reading/tool-choice.js';
export {
  translateResponsesRequest,
  translateTokenCountRequest,
  type ResponsesRequestTranslation,
  type TokenCountRequestTranslation,
  type TranslateResponsesOptions,
} from './responses-client/request/request.js';
export type {
  ResponseSettings,
  ResponsesContext,
  TextFormat,
} from './responses-client/response-context.js';
export type { StoredResponses } from './responses-client/request/stored-state.js';
export type { RequestField } from './reading/field-fate.js';

// Features that a caller turns on.
export { cacheConversations, cacheEveryRequest } from './features/cache-points.js';
export { nativeSchemas } from './features/native-schemas.js';
export { webSearch } from './features/web-search.js';

// Models and how fields are translated.
export { MODELS, optionsOf, traitsOf } from './models/options-of.js';
export type { ModelOptions } from './chat-client/request/model-options.js';
export { REQUEST_FIELDS } from './mapping/request-fields.js';
export { RESPONSES_FIELDS } from './mapping/responses-fields.js';
export { STOP_REASONS } from './mapping/stop-reasons.js';

// Answers, streams, errors and usage.
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
export { addUsageMembers, type UsageMembers } from './wire/usage-members.js';
export {
  chatUsage,
  type Decline,
  type ModelUsage,
  type ModelRun,
  type UncountedUsage,
  type Usage,
  type UsageReading,
  type UsageRemark,
} from './wire/usage.js';
export { type FallbackHop, readUsage } from './wire/usage-reading.js';
export {
  translateTokenCount,
  type TokenCountTranslation,
} from './responses-client/answer/token-count.js';
export { responseId, responseIdOfItem } from './responses-client/answer/output-items.js';
export { translateMessage } from './responses-client/answer/response.js';
export {
  responseUsage,
  type TranslateMessageContext,
} from './responses-client/answer/written-response.js';
export {
  createResponseStream,
  type FinishedResponse,
  type ResponseBytePipe,
  type ResponseStreamPipe,
} from './responses-client/answer/stream.js';
export { CHAT_KEEP_ALIVE } from './streams/keep-alive.js';
export {
  iterateThrough,
  type PieceOf,
  type PipeThroughOptions,
} from './streams/iterate-through.js';
export { codeOfError } from './wire/error-code.js';
export {
  translateError,
  type ErrorAnswer,
  type NativeErrorAnswer,
} from './errors/translate-error.js';
