export type { ChatEffort } from '../native-client/request/chat-request.js';
export {
  translateCompletion,
  type CompletionTranslation,
} from '../native-client/answer/completion.js';
export {
  ERROR_STATUS,
  errorOfStatus,
  statusOfError,
  translateChatError,
  type ChatErrorResponse,
  type NativeErrorResponse,
  type NativeErrorType,
} from '../native-client/answer/errors.js';
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
} from '../native-client/answer/message.js';
export {
  translateMessagesRequest,
  type MessagesRequestTranslation,
  type TranslateMessagesOptions,
} from '../native-client/request/request.js';
export { MESSAGE_FIELDS } from '../native-client/request/message-fields.js';
export type { MessageContext } from '../native-client/message-context.js';
export {
  createMessageEventStream,
  createMessageStream,
  type MessageStreamOptions,
} from '../native-client/answer/stream.js';
export type { ChatTraits } from '../native-client/request/traits.js';
export { readChatUsage } from '../native-client/answer/usage.js';
