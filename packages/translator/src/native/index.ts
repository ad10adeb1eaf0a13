export { MESSAGE_KEEP_ALIVE, messageErrorEvent } from '../wire/native-events.js';
export { scanTopLevel } from '../wire/json-scanner.js';
export type { JsonScan, JsonShape, JsonSpan, ScanOptions } from '../wire/json-scanner.js';
export {
  createMessagePieceTap,
  createMessageStreamTap,
  type TapOptions,
} from './message-stream-tap.js';
export { readNativeUsage } from './usage.js';
