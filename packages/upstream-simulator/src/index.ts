export type { BilledUsage, TokenCounts, TokenType } from './billed-usage.js';
export type { Journal, JournaledRequest, ServedUsage } from './journal.js';
export type { ContentBlock, JsonObject, MessageUsage } from './message.js';
export type { ReportOptions, ScriptedReport } from './reports.js';
export { ERROR_STATUS, SCENARIOS } from './script.js';
export type { ErrorType, ScriptedReply } from './script.js';
export { startUpstreamSimulator } from './server.js';
export type { UpstreamSimulatorOptions } from './options.js';
export type { UpstreamSimulator } from './server.js';
