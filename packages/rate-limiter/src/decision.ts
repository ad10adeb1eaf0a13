/** The decision about one event in a sliding log. */
export type Decision =
  | {
      readonly outcome: 'allowed';
      /** Events that would still be allowed right now. */
      readonly remaining: number;
    }
  | {
      readonly outcome: 'denied';
      /** The exact wait, rounded up to a whole millisecond: after it the event is allowed. */
      readonly retryAfterMs: number;
    };
