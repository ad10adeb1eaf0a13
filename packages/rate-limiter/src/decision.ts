/** The decision about one event in a sliding log. */
export type Decision =
  | {
      readonly outcome: 'allowed';
      /** The number of further events that would be allowed now. */
      readonly remaining: number;
    }
  | {
      readonly outcome: 'denied';
      /** The exact wait, rounded up to a whole millisecond: after it the event is allowed. */
      readonly retryAfterMs: number;
    };
