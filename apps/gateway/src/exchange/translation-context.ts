import type { Note, ResponseContext, ResponsesContext } from '@gateway/translator';

export type TranslatedFormat = TranslationContext['format'];

/** The facts about a translated request beside its body. */
export type TranslationContext = {
  readonly notes: readonly Note[];
  /** Values of the header `anthropic-beta` that the body needs. */
  readonly betas: readonly string[];
} & (
  | { readonly format: 'chat.completions'; readonly response: ResponseContext }
  | { readonly format: 'responses'; readonly response: ResponsesContext }
  /** The count of the tokens of a request of the format `responses`. */
  | { readonly format: 'input_tokens' }
);
