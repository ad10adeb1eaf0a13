export type Decision =
  | { readonly outcome: 'allowed'; readonly remaining: number }
  | { readonly outcome: 'denied'; readonly retryAfterMs: number };
