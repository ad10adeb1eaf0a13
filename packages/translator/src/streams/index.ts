export {
  createChatChunkStream,
  type ChatCallDelta,
  type ChatChunk,
  type ChatDelta,
} from './chat-chunks.js';
export { createChatTextStream } from '../chat-client/answer/stream.js';
export type { ChatStreamError } from '../chat-client/answer/error-events.js';
export { CHAT_KEEP_ALIVE } from './keep-alive.js';
export {
  iterateThrough,
  transformThrough,
  type PieceOf,
  type PipeThroughOptions,
} from './pipe-through.js';
