export type { Journal, JournaledRequest, ServedUsage } from './journal.js';
export type { ContentBlock, JsonObject, MessageUsage } from './message.js';
export { ERROR_STATUS, SCENARIOS } from './script.js';
export type { ErrorType, ScriptedReply } from './script.js';
export { startUpstreamSimulator } from './server.js';
export type { UpstreamSimulator, UpstreamSimulatorOptions } from './server.js';
