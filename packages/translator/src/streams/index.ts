export type { ChatCallDelta, ChatChunk, ChatDelta } from '../chat-client/answer/chat-chunk.js';
export { createChatChunkStream, createChatTextStream } from '../chat-client/answer/stream.js';
export type { ChatStreamError } from '../chat-client/answer/error-events.js';
export { CHAT_KEEP_ALIVE } from './keep-alive.js';
export {
  iterateThrough,
  transformThrough,
  type PieceOf,
  type PipeThroughOptions,
} from './pipe-through.js';
