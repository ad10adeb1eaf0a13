/** The request formats that are translated, with the functions that translate them. */

import {
  translateRequest,
  cacheConversations,
  cacheEveryRequest,
  nativeSchemas,
  webSearch,
  translateResponsesRequest,
  translateTokenCountRequest,
  type RequestProblem,
  type Encoding,
  type TranslateRequestOptions,
} from '@gateway/translator';
import type { JsonShape } from '@gateway/translator/native';
import type { ChatConfig } from '../../config/config.js';
import type { PricedFeature } from '../../config/variables.js';
import { keptThinkingIn } from '../response-memory/kept-thinking.js';
import { storedFor } from '../response-memory/referred-responses.js';
import type { RecalledResponses } from '../response-memory/referred-responses.js';
import type { TranslatedFormat, TranslationContext } from '../translation-context.js';
import { MAX_ITEMS } from './deciding-members.js';

export type Translation =
  | {
      readonly outcome: 'translated';
      readonly body: Uint8Array;
      readonly context: TranslationContext;
      /** The items of the conversation, if the response is to be kept. */
      readonly items?: readonly unknown[] | undefined;
    }
  | { readonly outcome: 'refused'; readonly problem: RequestProblem };

interface RequestTranslator {
  /**
   * Limits the number of items in lists that the translation iterates over. The translation itself
   * checks the items.
   */
  readonly shape: JsonShape;
  /** The members with which a client limits the tokens of its answer. */
  readonly limitMembers: readonly [string, ...string[]];
  readonly translate: (
    request: unknown,
    options: Omit<TranslateRequestOptions, 'keptThinking'> & Encoding<Uint8Array>,
    recalled: RecalledResponses | undefined,
  ) => Translation;
}

const LIST: JsonShape = { maxItems: MAX_ITEMS };
/** A namespace is a tool that holds others, and a shell can have skills. */
const TOOLS: JsonShape = listOf(
  members({
    tools: LIST,
    environment: members({ skills: LIST }),
    filters: members({ allowed_domains: LIST }),
  }),
);
const TOOL_CHOICE = members({ tools: LIST, allowed_tools: members({ tools: LIST }) });

/** Both endpoints take the same requests. */
const OF_RESPONSES = {
  shape: members({
    input: listOf(
      members({
        content: listOf(members({ citations: LIST })),
        output: LIST,
        tools: TOOLS,
        action: members({ commands: LIST, command: LIST }),
      }),
    ),
    tools: TOOLS,
    tool_choice: TOOL_CHOICE,
    include: LIST,
  }),
  limitMembers: ['max_output_tokens'],
} as const;

export const TRANSLATIONS: Readonly<Record<TranslatedFormat, RequestTranslator>> = {
  'chat.completions': {
    shape: members({
      messages: listOf(
        members({
          content: LIST,
          tool_calls: LIST,
          thinking_blocks: listOf(
            members({ answer_blocks: listOf(members({ content: LIST, citations: LIST })) }),
          ),
          reasoning_details: LIST,
        }),
      ),
      tools: LIST,
      tool_choice: TOOL_CHOICE,
      functions: LIST,
      stop: LIST,
    }),
    limitMembers: ['max_completion_tokens', 'max_tokens'],
    translate(request, options, recalled) {
      const keptThinking = recalled && keptThinkingIn(recalled);
      const translation = translateRequest(request, { ...options, keptThinking });
      if (translation.outcome === 'refused') return translation;
      const { outcome, body, response, notes, betas } = translation;
      const context = { format: 'chat.completions', response, notes, betas } as const;
      // The client sends its conversation again, so only the thinking is kept.
      const items = response.reasoning && isStored(request) ? [] : undefined;
      return { outcome, body, context, items };
    },
  },
  responses: {
    ...OF_RESPONSES,
    translate(request, options, recalled) {
      const stored = recalled && storedFor(request, recalled);
      const translation = translateResponsesRequest(request, { ...options, stored });
      if (translation.outcome === 'refused') return translation;
      const { outcome, body, response, notes, betas, conversation } = translation;
      const items = response.settings.store === true ? conversation : undefined;
      return { outcome, body, context: { format: 'responses', response, notes, betas }, items };
    },
  },
  input_tokens: {
    ...OF_RESPONSES,
    translate(request, options, recalled) {
      const stored = recalled && storedFor(request, recalled);
      const translation = translateTokenCountRequest(request, { ...options, stored });
      if (translation.outcome === 'refused') return translation;
      const { outcome, body, notes, betas } = translation;
      return { outcome, body, context: { format: 'input_tokens', notes, betas } };
    },
  },
};

/** Searches cost extra, which the operator pays, so one request may make only a few. */
const MAX_SEARCHES = 5;

/** The options of the translator that the operator has turned on. */
export function translatorFeatures(chat: ChatConfig, allow: ReadonlySet<PricedFeature>) {
  return {
    jsonSchema: chat.jsonSchema === 'native' ? nativeSchemas : undefined,
    reasoning: chat.reasoning === 'none' ? undefined : chat.reasoning,
    cache: { auto: cacheConversations, always: cacheEveryRequest, client: undefined }[chat.cache],
    webSearch: allow.has('web_search') ? webSearch({ maxUses: MAX_SEARCHES }) : undefined,
  };
}

function isStored(request: unknown): boolean {
  return (request as { readonly store?: unknown }).store !== false;
}

function listOf(item: JsonShape): JsonShape {
  return { maxItems: MAX_ITEMS, item };
}

function members(shapes: Readonly<Record<string, JsonShape>>): JsonShape {
  return { member: (name) => (Object.hasOwn(shapes, name) ? shapes[name] : undefined) };
}
