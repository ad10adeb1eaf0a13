export type { ChatEffort } from './request/chat-request.js';
export { translateCompletion, type CompletionTranslation } from './answer/completion.js';
export {
  ERROR_STATUS,
  errorOfStatus,
  statusOfError,
  translateChatError,
  type ChatErrorResponse,
  type NativeErrorResponse,
  type NativeErrorType,
} from './answer/errors.js';
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
} from './answer/message.js';
export {
  translateMessagesRequest,
  type MessagesRequestTranslation,
  type TranslateMessagesOptions,
} from './request/request.js';
export { MESSAGE_FIELDS } from './request/message-fields.js';
export type { MessageContext } from './context/message-context.js';
export {
  createMessageEventStream,
  createMessageStream,
  type MessageStreamOptions,
} from './answer/stream.js';
export type { ChatTraits } from './request/traits.js';
export { readChatUsage } from './answer/usage.js';
export {
  toChatParams,
  toMessage,
  type ChatParams,
  type ChatParamsTranslation,
  type MessageTranslation,
} from './objects.js';
