export type { ChatEffort } from './chat-request.js';
export { translateCompletion, type CompletionTranslation } from './completion.js';
export {
  ERROR_STATUS,
  errorOfStatus,
  statusOfError,
  translateChatError,
  type ChatErrorResponse,
  type NativeErrorResponse,
  type NativeErrorType,
} from './errors.js';
export type {
  BlockDelta,
  DeltaUsage,
  NativeBlock,
  NativeEvent,
  NativeMessage,
  NativeUsage,
  RefusalDetails,
  StopReason,
  ThinkingPiece,
} from './message.js';
export {
  translateMessagesRequest,
  type MessagesRequestTranslation,
  type TranslateMessagesOptions,
} from './request.js';
export { MESSAGE_FIELDS } from './request-fields.js';
export type { MessageContext } from './stop-reason.js';
export {
  createMessageEventStream,
  createMessageStream,
  type MessageStreamOptions,
} from './stream.js';
export type { ChatTraits } from './traits.js';
export { readChatUsage } from './usage.js';
