/**
 * Responses and their events as objects, with types that OpenAI's SDKs accept.
 *
 * https://platform.openai.com/docs/api-reference/responses/object
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */

import type { Citation } from '../../wire/server-block.js';
import type { chatUsage } from '../../wire/usage.js';
import type { ResponseSettings } from '../response-context.js';

type ChatUsage = ReturnType<typeof chatUsage>;

/** The `usage` of a response. `input_tokens` counts the whole prompt, so that totals add up. */
export interface ResponseUsage {
  input_tokens: number;
  input_tokens_details: ChatUsage['prompt_tokens_details'];
  output_tokens: number;
  output_tokens_details: ChatUsage['completion_tokens_details'];
  total_tokens: number;
}

/** A response. It can be used as `OpenAI.Responses.Response`. */
export interface ResponseObject {
  id: string;
  object: 'response';
  /** In seconds since the epoch. */
  created_at: number;
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  background: false;
  error: ResponseFailure | null;
  incomplete_details: IncompleteDetails | null;
  model: string;
  output: ResponseItem[];
  /** The text of all messages. OpenAI's SDKs add it to a response. */
  output_text: string;
  max_output_tokens: number | null;
  metadata: Record<string, string>;
  parallel_tool_calls: boolean;
  reasoning: {
    effort: 'none' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null;
    summary: 'auto' | 'concise' | 'detailed' | null;
  };
  temperature: number | null;
  text: {
    format:
      | { type: 'text' }
      | { type: 'json_object' }
      | { type: 'json_schema'; name: string; schema: Record<string, never>; strict: boolean };
  };
  tool_choice:
    | 'auto'
    | 'none'
    | 'required'
    | { type: 'web_search_preview' }
    | { type: 'shell' }
    | { type: 'apply_patch' }
    | { type: 'function'; name: string }
    | { type: 'custom'; name: string };
  top_p: number | null;
  instructions: null;
  /** Always empty, because a response does not repeat tools. */
  tools: never[];
  previous_response_id: string | null;
  service_tier: 'auto' | 'default' | 'priority';
  store: boolean;
  truncation: 'disabled';
  /** Absent until the end, and if the upstream's counts cannot be read. */
  usage?: ResponseUsage;
  access_programs: null;
}

export interface IncompleteDetails {
  reason: 'max_output_tokens' | 'content_filter';
  /** The upstream's stop reason, such as `pause_turn`, if `reason` has no word for it. */
  native_finish_reason?: string;
}

/** The error once more, in the form that some clients read, with the upstream's type. */
export interface ResponseErrorDetails extends ResponseFailure {
  type: string;
  param: null;
}

export interface ResponseFailure {
  code: 'server_error' | 'rate_limit_exceeded' | 'invalid_prompt';
  message: string;
}

type Status = 'in_progress' | 'completed' | 'incomplete';

export type ResponseItem =
  | {
      id: string;
      type: 'message';
      status: Status;
      role: 'assistant';
      content: ResponsePart[];
    }
  | {
      id: string;
      type: 'reasoning';
      summary: SummaryPart[];
      /**
       * The signed thinking, or the results of searches, which the client has to send back; null
       * without a signature.
       */
      encrypted_content: string | null;
    }
  | {
      id: string;
      type: 'function_call';
      status: Status;
      call_id: string;
      name: string;
      namespace?: string;
      arguments: string;
    }
  | {
      id: string;
      type: 'custom_tool_call';
      status: Status;
      call_id: string;
      name: string;
      namespace?: string;
      input: string;
    }
  | {
      id: string;
      type: 'shell_call';
      status: Status;
      call_id: string;
      action: {
        commands: string[];
        timeout_ms: number | null;
        max_output_length: number | null;
      };
      environment: null;
    }
  | {
      id: string;
      type: 'local_shell_call';
      status: Status;
      call_id: string;
      action: {
        type: 'exec';
        command: string[];
        env: Record<string, string>;
        timeout_ms: number | null;
        user: string | null;
        working_directory: string | null;
      };
    }
  | {
      id: string;
      type: 'apply_patch_call';
      status: 'in_progress' | 'completed';
      call_id: string;
      operation:
        | { type: 'create_file'; path: string; diff: string }
        | { type: 'update_file'; path: string; diff: string }
        | { type: 'delete_file'; path: string };
    }
  | {
      id: string;
      type: 'tool_search_call';
      status: Status;
      call_id: string;
      arguments: Record<string, unknown>;
      execution: 'client';
    }
  | {
      id: string;
      type: 'web_search_call';
      status: 'in_progress' | 'completed' | 'failed';
      action: { type: 'search'; query: string; queries: string[] };
    };

/** The prefixes that OpenAI's ids have. Some clients check them. */
export const ITEM_PREFIXES: Readonly<Record<ResponseItem['type'], string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  shell_call: 'sh',
  local_shell_call: 'lsh',
  apply_patch_call: 'apc',
  tool_search_call: 'tsc',
  web_search_call: 'ws',
};

export type ResponsePart =
  | {
      type: 'output_text';
      annotations: UrlCitation[];
      logprobs: never[];
      text: string;
      /** The native citations of the text, which the client has to send back. */
      citations?: Citation[];
    }
  | { type: 'refusal'; refusal: string };

/** A page that a part of a message cites. The indexes count UTF-16 code units of its text. */
export interface UrlCitation {
  type: 'url_citation';
  start_index: number;
  end_index: number;
  title: string;
  url: string;
}

export interface SummaryPart {
  type: 'summary_text';
  text: string;
}

/** The events that have the whole response. */
export type ResponseState =
  | 'response.created'
  | 'response.in_progress'
  | 'response.completed'
  | 'response.incomplete'
  | 'response.failed';

interface OfItem {
  item_id: string;
  output_index: number;
}

interface OfPart extends OfItem {
  content_index: number;
}

interface OfSummary extends OfItem {
  summary_index: number;
}

/** An event of a stream. It can be used as `OpenAI.Responses.ResponseStreamEvent`. */
export type ResponseEvent<Response = ResponseObject> = { sequence_number: number } & (
  | { type: ResponseState; response: Response }
  | ({ type: 'error'; param: null; error: ResponseErrorDetails } & ResponseFailure)
  | { type: 'response.output_item.added'; output_index: number; item: ResponseItem }
  | { type: 'response.output_item.done'; output_index: number; item: ResponseItem }
  | ({ type: 'response.content_part.added'; part: ResponsePart } & OfPart)
  | ({ type: 'response.content_part.done'; part: ResponsePart } & OfPart)
  | ({ type: 'response.output_text.delta'; delta: string; logprobs: never[] } & OfPart)
  | ({ type: 'response.output_text.done'; text: string; logprobs: never[] } & OfPart)
  | ({
      type: 'response.output_text.annotation.added';
      annotation_index: number;
      annotation: UrlCitation;
    } & OfPart)
  | ({ type: 'response.refusal.delta'; delta: string } & OfPart)
  | ({ type: 'response.refusal.done'; refusal: string } & OfPart)
  | ({ type: 'response.reasoning_summary_part.added'; part: SummaryPart } & OfSummary)
  | ({ type: 'response.reasoning_summary_part.done'; part: SummaryPart } & OfSummary)
  | ({ type: 'response.reasoning_summary_text.delta'; delta: string } & OfSummary)
  | ({ type: 'response.reasoning_summary_text.done'; text: string } & OfSummary)
  | ({ type: 'response.function_call_arguments.delta'; delta: string } & OfItem)
  | ({ type: 'response.function_call_arguments.done'; name: string; arguments: string } & OfItem)
  | ({ type: 'response.custom_tool_call_input.delta'; delta: string } & OfItem)
  | ({ type: 'response.custom_tool_call_input.done'; input: string } & OfItem)
  | ({ type: 'response.web_search_call.in_progress' } & OfItem)
  | ({ type: 'response.web_search_call.searching' } & OfItem)
  | ({ type: 'response.web_search_call.completed' } & OfItem)
);

/** A response as its JSON text has it. It lacks `output_text`, and its `usage` can be null. */
export type WrittenResponse = Omit<
  ResponseObject,
  'usage' | 'output_text' | keyof ResponseSettings
> &
  ResponseSettings & { usage: ResponseUsage | null };

/** An event as its JSON text has it. The SDKs have no type for `keepalive`. */
export type WrittenEvent =
  ResponseEvent<WrittenResponse> | { type: 'keepalive'; sequence_number: number };

type WithoutNumber<Event> = Event extends unknown ? Omit<Event, 'sequence_number'> : never;

export type UnnumberedEvent = WithoutNumber<WrittenEvent>;

/** The response as SDKs return it. Their types list the values that its settings can have. */
export function sdkResponse({ usage, ...response }: WrittenResponse): ResponseObject {
  const parts = response.output.flatMap((item) => (item.type === 'message' ? item.content : []));
  const text = parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
  return { ...response, output_text: text, ...(usage && { usage }) } as ResponseObject;
}
