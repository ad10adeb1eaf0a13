/**
 * Counts the exchanges in progress, including those whose client has left, so that a shutdown can
 * wait for them.
 */
export interface Activity {
  readonly running: number;
  /** How many exchanges this process has started. */
  readonly begun: number;
  /** True after `announceStop` or `startDraining`. Requests are accepted until the latter. */
  readonly isStopping: boolean;
  begin(): void;
  end(): void;
  announceStop(): void;
  /** From this call on, each connection gets at most one more response. */
  startDraining(): void;
  /** Closes the connections of the next `count` responses, so that their clients reconnect. */
  shedConnections(count: number): void;
  /** Whether a response may keep its connection open. Call it once per response. */
  keepsConnection(): boolean;
}

export function createActivity(): Activity {
  let running = 0;
  let begun = 0;
  let isStopping = false;
  let isDraining = false;
  let toShed = 0;
  return {
    get running() {
      return running;
    },
    get begun() {
      return begun;
    },
    get isStopping() {
      return isStopping;
    },
    begin() {
      running += 1;
      begun += 1;
    },
    end() {
      running -= 1;
    },
    announceStop() {
      isStopping = true;
    },
    startDraining() {
      isStopping = true;
      isDraining = true;
    },
    shedConnections(count) {
      toShed = count;
    },
    keepsConnection() {
      if (isDraining) return false;
      if (toShed === 0) return true;
      toShed -= 1;
      return false;
    },
  };
}
