/** How a simulator is started. */

import type { ReportOptions } from './reports.js';
import type { RuleName } from './rules/rules.js';

export interface UpstreamSimulatorOptions extends ReportOptions {
  readonly host?: string;
  /** Default: 0, which takes a free port. */
  readonly port?: number;
  /** The expected credential, in `x-api-key` or `authorization`. Without it any is accepted. */
  readonly apiKey?: string;
  /** Ids of the known models. Default: all current ones. Other models get a 404. */
  readonly models?: readonly string[];
  /** Rules of the API that are not applied, for tests of something else. Default: none. */
  readonly lenient?: readonly RuleName[];
  /** The least tokens of a prompt prefix that is cached. Default: 1,024, as in the API. */
  readonly minCachedTokens?: number;
  /** Delay before each response to `POST /v1/messages`. */
  readonly latencyMs?: number;
  /** Delay between two events of a stream. */
  readonly eventDelayMs?: number;
  /** Reads a {@link ScriptedReply} as JSON from the header `x-simulator-script`. */
  readonly allowScriptHeader?: boolean;
  /** Reads a script from a user's text that begins with `[[script:{…}]]`. */
  readonly allowScriptText?: boolean;
  /** Whether the journal keeps the bytes of request bodies. Default: true. */
  readonly keepBodies?: boolean;
  /**
   * Number of requests, and of usages, that the journal returns. It keeps up to twice as many in
   * memory. Default: 200,000.
   */
  readonly maxJournalEntries?: number;
  /**
   * The current time in milliseconds since the epoch. It decides the day of a message in the
   * reports.
   */
  readonly now?: () => number;
  /** Path of a file that receives every request and usage as a line of JSON. */
  readonly journalFile?: string;
}
