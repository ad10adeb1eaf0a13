import type { Additions } from '../wire/additions.js';
import type { CalledAs } from '../wire/called-as.js';

/** The facts about a request of the Responses API that the translation of its answer needs. */
export interface ResponsesContext {
  /** The model as the client wrote it, echoed in the response. */
  readonly model: string;
  /**
   * Tools whose calls are returned to the client under another name, as another type or with other
   * names of their arguments, by their upstream name.
   */
  readonly tools: ReadonlyMap<string, CalledAs>;
  /** Whether the client asked for summaries of the thinking (`reasoning.summary`). */
  readonly showsSummaries: boolean;
  /** Whether the model may search the web. The answer then has its searches and cited pages. */
  readonly showsSearches?: boolean | undefined;
  /** What the translation added to the end of the conversation. */
  readonly additions?: Additions | undefined;
  readonly settings: ResponseSettings;
}

/**
 * The settings that a response repeats. A stream contains them three times, so they stay in memory
 * until its end. Instructions, tools and schemas are not repeated, because they can be large.
 */
export interface ResponseSettings {
  readonly max_output_tokens: number | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly parallel_tool_calls: boolean;
  readonly reasoning: { readonly effort: string | null; readonly summary: string | null };
  readonly temperature: number | null;
  readonly text: { readonly format: TextFormat };
  readonly tool_choice:
    | 'auto'
    | 'none'
    | 'required'
    | { readonly type: 'web_search_preview' | 'shell' | 'apply_patch' }
    | { readonly type: 'function' | 'custom'; readonly name: string };
  readonly top_p: number | null;
  /** Whether the response is kept, so that a later request can refer to it. Absent: false. */
  readonly store?: boolean | undefined;
  /** Absent: null. */
  readonly previous_response_id?: string | null | undefined;
}

export type TextFormat =
  | { readonly type: 'text' | 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      /** Always empty: see {@link ResponseSettings}. */
      readonly schema: Readonly<Record<string, never>>;
      readonly strict: boolean;
    };
