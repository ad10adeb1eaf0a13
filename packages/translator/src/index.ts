export type { Note, RequestProblem } from './note.js';
export type { EffortLevel, ModelTraits } from './traits.js';
export {
  translateRequest,
  type RequestTranslation,
  type TranslateRequestOptions,
} from './request.js';
export type { ResponseContext } from './response-context.js';
export {
  normalizeToolChoice,
  type NativeToolChoice,
  type ToolChoiceNormalization,
} from './tool-choice.js';
export { chatErrorEvent, errorBody, type ErrorDetails } from './errors.js';
export { finishReason, type FinishReason } from './finish-reason.js';
export {
  translateResponse,
  type ResponseTranslation,
  type TranslateResponseContext,
} from './response.js';
export type {
  FailureCause,
  MessageEnd,
  StreamEnd,
  StreamError,
  StreamPipe,
} from './stream-pipe.js';
export { createChatStream, type ChatStreamOptions } from './stream.js';
export {
  chatUsage,
  readUsage,
  type UncountedUsage,
  type Usage,
  type UsageReading,
  type UsageRemark,
} from './usage.js';
