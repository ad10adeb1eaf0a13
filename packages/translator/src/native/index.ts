export { MESSAGE_KEEP_ALIVE, messageErrorEvent } from './events.js';
export { scanTopLevel } from './json-members.js';
export type { JsonScan, JsonShape, JsonSpan, ScanOptions } from './json-members.js';
export {
  createMessagePieceTap,
  createMessageStreamTap,
  type TapOptions,
} from './message-stream-tap.js';
export { readNativeUsage } from './usage.js';
