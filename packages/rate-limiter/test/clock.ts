/** A clock that moves only when the test moves it. */
export interface ManualClock {
  readonly now: () => number;
  readonly advance: (ms: number) => void;
}

export function createManualClock(startMs = 1_000): ManualClock {
  let timeMs = startMs;
  return {
    now: () => timeMs,
    advance(ms) {
      timeMs += ms;
    },
  };
}
