/**
 * Responses and their events as objects, with types that OpenAI's SDKs accept.
 *
 * https://platform.openai.com/docs/api-reference/responses/object
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */

import type { UrlCitation } from './output-items.js';
import type { responseUsage } from './response-text.js';

/** A response. It can be used as `OpenAI.Responses.Response`. */
export interface ResponseObject {
  id: string;
  object: 'response';
  /** In seconds since the epoch. */
  created_at: number;
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  background: false;
  error: ResponseFailure | null;
  incomplete_details: { reason: 'max_output_tokens' | 'content_filter' } | null;
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
  usage?: ReturnType<typeof responseUsage>;
  access_programs: null;
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
      /** The signed thinking, which the client has to send back; null without a signature. */
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

export type ResponsePart =
  | { type: 'output_text'; annotations: UrlCitation[]; logprobs: never[]; text: string }
  | { type: 'refusal'; refusal: string };

export interface SummaryPart {
  type: 'summary_text';
  text: string;
}

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
export type ResponseEvent = { sequence_number: number } & (
  | { type: 'response.created'; response: ResponseObject }
  | { type: 'response.in_progress'; response: ResponseObject }
  | { type: 'response.completed'; response: ResponseObject }
  | { type: 'response.incomplete'; response: ResponseObject }
  | { type: 'response.failed'; response: ResponseObject }
  | ({ type: 'error'; param: null } & ResponseFailure)
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
type WrittenResponse = Omit<ResponseObject, 'usage' | 'output_text'> & {
  usage?: ResponseObject['usage'] | null;
};

/** The object of a response's JSON text. */
export function responseObject(json: string): ResponseObject {
  return withSdkMembers(JSON.parse(json) as WrittenResponse);
}

/** The object of an event that is framed as a server-sent event. */
export function responseEvent(framed: string): ResponseEvent {
  const event = JSON.parse(
    framed.slice(framed.indexOf('\ndata: ') + '\ndata: '.length),
  ) as ResponseEvent;
  return 'response' in event ? { ...event, response: withSdkMembers(event.response) } : event;
}

function withSdkMembers({ usage, ...response }: WrittenResponse): ResponseObject {
  const parts = response.output.flatMap((item) => (item.type === 'message' ? item.content : []));
  const text = parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
  return {
    ...response,
    output_text: text,
    ...(usage && { usage }),
  };
}
