/**
 * Counts the exchanges in progress, also those whose client has left, so that a shutdown can wait
 * for them.
 */
export interface Activity {
  readonly running: number;
  /** How many have started since the process did. */
  readonly begun: number;
  /**
   * True while the process shuts down: it answers the requests that it has and accepts no
   * connection.
   */
  readonly isDraining: boolean;
  begin(): void;
  end(): void;
  startDraining(): void;
  /** Closes the connections of the next `count` responses, so that their clients reconnect. */
  shedConnections(count: number): void;
  /** Whether a response may keep its connection open. Call it once per response. */
  keepsConnection(): boolean;
}

export function createActivity(): Activity {
  let running = 0;
  let begun = 0;
  let isDraining = false;
  let toShed = 0;
  return {
    get running() {
      return running;
    },
    get begun() {
      return begun;
    },
    get isDraining() {
      return isDraining;
    },
    begin() {
      running += 1;
      begun += 1;
    },
    end() {
      running -= 1;
    },
    startDraining() {
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
