/** The decision about one event in a sliding log. */
export type Decision =
  | {
      readonly outcome: 'allowed';
      /** The number of further events that would be allowed now. */
      readonly remaining: number;
    }
  | {
      readonly outcome: 'denied';
      /** The exact time after which the event is allowed, rounded up to a whole millisecond. */
      readonly retryAfterMs: number;
    };
