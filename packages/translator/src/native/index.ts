export { EventSplitter, type OnEventBytes } from '../wire/event-splitter.js';
export { MESSAGE_KEEP_ALIVE, messageErrorEvent } from '../wire/native-events.js';
export { readMessage, type MessageReading } from '../wire/message-state.js';
export {
  scanTopLevel,
  type JsonScan,
  type JsonShape,
  type JsonSpan,
  type ScanOptions,
} from '../wire/json-scanner.js';
export {
  createMessageSkimmer,
  type MessageSkimmer,
  type SkimmedMessage,
} from './message-skimmer.js';
export {
  createMessagePieceTap,
  createMessageStreamTap,
  type TapOptions,
} from './message-stream-tap.js';
