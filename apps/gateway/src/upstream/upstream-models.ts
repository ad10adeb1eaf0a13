/** The models that the upstream offers, as plain data: operations do not know the upstream. */

export interface UpstreamModel {
  readonly id: string;
  readonly displayName: string | undefined;
  /** ISO 8601. */
  readonly createdAt: string | undefined;
  readonly contextWindow: number | undefined;
  readonly maxOutputTokens: number | undefined;
}

export type UpstreamModelsReading =
  | { readonly outcome: 'listed'; readonly models: readonly UpstreamModel[] }
  /** The reason continues the sentence "the upstream's models cannot be read: …". */
  | { readonly outcome: 'failed'; readonly reason: string };
