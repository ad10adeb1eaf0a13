/** Scripts: replies and faults that a test puts in place of the simulator's own reply. */

import type { TokenCounts } from './billed-usage.js';
import type { ContentBlock, JsonObject } from './message.js';

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'billing_error'
  | 'permission_error'
  | 'not_found_error'
  | 'conflict_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'api_error'
  | 'timeout_error'
  | 'overloaded_error';

/**
 * All members are optional. A missing member keeps the simulator's own behaviour. `body` takes
 * precedence over `error`, and `error` over a message. In a stream, `streamError` takes precedence
 * over `garbage`, `cut` and `stallAfterEvents`, and `cut` over `stallAfterEvents`.
 */
export interface ScriptedReply {
  /**
   * Name of one of {@link SCENARIOS}: a ready-made set of the members below. Members of this script
   * override those of the scenario.
   */
  readonly scenario?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The exact body, instead of a message. */
  readonly body?: string | Uint8Array;
  /** Sends an error of this type, with the status that the API uses for it, or with `status`. */
  readonly error?: {
    readonly type: ErrorType;
    readonly message?: string;
    readonly errorCode?: string;
  };
  readonly content?: readonly ContentBlock[];
  readonly stopReason?: string;
  readonly stopSequence?: string | null;
  readonly stopDetails?: JsonObject | null;
  /** Replaces members of `usage`; `undefined` removes a member. Any JSON is sent unchanged. */
  readonly usage?: Readonly<Record<string, unknown>>;
  /**
   * Replaces counts in the usage report and the cost report. With `null`, the reports leave the
   * message out.
   */
  readonly billed?: Partial<TokenCounts> | null;
  /** Sends a message without `usage`. */
  readonly withoutUsage?: boolean;
  /** Exact events instead of those of the message. The journal keeps the usage of the message. */
  readonly events?: readonly JsonObject[];
  /** Delay before the response head. */
  readonly delayMs?: number;
  /** Delay between two events. */
  readonly eventDelayMs?: number;
  /** Ends the stream with an `error` event after this many events. */
  readonly streamError?: {
    readonly afterEvents: number;
    readonly type: ErrorType;
    readonly message?: string;
  };
  /**
   * After this many events, ends the response without the remaining events (`end`, the default) or
   * resets the connection (`reset`).
   */
  readonly cut?: { readonly afterEvents: number; readonly how?: 'end' | 'reset' };
  /** Sends nothing more after this many events, and keeps the connection open. */
  readonly stallAfterEvents?: number;
  /** Sends bytes that are not an event after this many events. */
  readonly garbage?: { readonly afterEvents: number; readonly bytes: string };
  /** Sends the body in pieces of this size. */
  readonly splitBytes?: number;
  readonly lineEnd?: '\n' | '\r\n' | '\r';
  /** Number of `message_delta` events, with growing usage. */
  readonly messageDeltas?: number;
  /**
   * If 2 or more: the number of `ping` events between any two other events. Otherwise one `ping`
   * follows the first event, as in the API.
   */
  readonly pings?: number;
}

const text = (value: string): ContentBlock => ({ type: 'text', text: value });

const toolResult = (type: string, toolUseId: string, content: JsonObject): ContentBlock => ({
  type,
  tool_use_id: toolUseId,
  content,
});

/** Replies that every client must be able to handle, by name. */
export const SCENARIOS: Readonly<Record<string, ScriptedReply>> = {
  refusal: {
    content: [],
    stopReason: 'refusal',
    stopDetails: { type: 'refusal', category: 'cyber', explanation: 'This cannot be answered.' },
  },
  refusal_after_text: {
    content: [text('Well, ')],
    stopReason: 'refusal',
    stopDetails: { type: 'refusal', category: null, explanation: null },
  },
  pause_turn: { stopReason: 'pause_turn' },
  context_window_exceeded: { stopReason: 'model_context_window_exceeded' },
  unknown_stop_reason: { stopReason: 'hologram_projected' },
  empty: { content: [] },
  redacted_thinking: {
    content: [{ type: 'redacted_thinking', data: 'c2VjcmV0' }, text('After some thought: yes.')],
  },
  thinking_only: { content: [{ type: 'thinking', thinking: '', signature: 'c2lnbmVk' }] },
  server_tool: {
    content: [
      { type: 'server_tool_use', id: 'srvtoolu_01', name: 'web_search', input: { query: 'a' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_01',
        content: [
          {
            type: 'web_search_result',
            url: 'https://example.com/',
            title: 'Example',
            encrypted_content: 'eA==',
            page_age: null,
          },
        ],
      },
      {
        type: 'text',
        text: 'Found it.',
        citations: [
          {
            type: 'web_search_result_location',
            url: 'https://example.com/',
            title: 'Example',
            encrypted_index: 'eA==',
            cited_text: 'it',
          },
        ],
      },
    ],
  },
  /** Has each block type of the API, including those in beta, that no other scenario has. */
  every_block: {
    content: [
      text('Looking.'),
      {
        type: 'server_tool_use',
        id: 'srvtoolu_1',
        name: 'web_fetch',
        input: { url: 'https://a.test/' },
      },
      toolResult('web_fetch_tool_result', 'srvtoolu_1', {
        type: 'web_fetch_tool_result_error',
        error_code: 'url_not_accessible',
      }),
      { type: 'server_tool_use', id: 'srvtoolu_2', name: 'code_execution', input: { code: '1' } },
      toolResult('code_execution_tool_result', 'srvtoolu_2', {
        type: 'code_execution_result',
        stdout: '1',
        stderr: '',
        return_code: 0,
        content: [],
      }),
      { type: 'server_tool_use', id: 'srvtoolu_3', name: 'bash_code_execution', input: {} },
      toolResult('bash_code_execution_tool_result', 'srvtoolu_3', {
        type: 'bash_code_execution_result',
        stdout: '',
        stderr: '',
        return_code: 0,
        content: [],
      }),
      { type: 'server_tool_use', id: 'srvtoolu_4', name: 'text_editor_code_execution', input: {} },
      toolResult('text_editor_code_execution_tool_result', 'srvtoolu_4', {
        type: 'text_editor_code_execution_create_result',
        is_file_update: false,
      }),
      { type: 'server_tool_use', id: 'srvtoolu_5', name: 'tool_search_tool_regex', input: {} },
      toolResult('tool_search_tool_result', 'srvtoolu_5', {
        type: 'tool_search_tool_search_result',
        tool_references: [],
      }),
      { type: 'container_upload', file_id: 'file_1' },
      { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'a', server_name: 's', input: {} },
      { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', is_error: false, content: [] },
      toolResult('advisor_tool_result', 'srvtoolu_6', { type: 'advisor_result', text: 'Do it.' }),
      {
        type: 'fallback',
        from: { model: 'a' },
        to: { model: 'b' },
        trigger: { type: 'refusal', category: 'cyber' },
      },
      { type: 'compaction', content: 'A summary of what was said.' },
    ],
  },
  unknown_block: { content: [{ type: 'hologram', resolution: 4 }, text('See above.')] },
  tool_without_arguments: {
    content: [{ type: 'tool_use', id: 'toolu_01empty', name: 'now', input: {} }],
    stopReason: 'tool_use',
  },
  several_message_deltas: { messageDeltas: 3 },
  ping_storm: { pings: 50 },
};

export const ERROR_STATUS: Readonly<Record<ErrorType, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** Adds the members of the script's scenario, if it has one. */
export function resolveScript(script: ScriptedReply): ScriptedReply {
  if (script.scenario === undefined) return script;
  const scenario = SCENARIOS[script.scenario];
  if (scenario === undefined) throw new Error(`unknown scenario: ${script.scenario}`);
  return { ...scenario, ...script };
}

const MARKER = /^\[\[script:(\{.*\})\]\]/s;

/**
 * Reads the script that a client sent, in a header or as `[[script:{…}]]` at the start of the
 * user's last text. The text also reaches a simulator behind a gateway, which drops unknown
 * headers.
 */
export function readScript(source: string, from: 'text' | 'header'): ScriptedReply | undefined {
  const json = from === 'header' ? source : MARKER.exec(source)?.[1];
  return json === undefined ? undefined : (JSON.parse(json) as ScriptedReply);
}
