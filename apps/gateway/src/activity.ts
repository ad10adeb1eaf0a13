/** Counts exchanges under way, with a client or without, so that a shutdown can wait for the last of them. */
export interface Activity {
  readonly running: number;
  /** How many there have been. */
  readonly begun: number;
  /** True once the process is to end: it answers what it has accepted, and accepts nothing more. */
  readonly isDraining: boolean;
  begin(): void;
  end(): void;
  startDraining(): void;
  /** The next `count` answers are the last on their connections: clients connect anew. */
  shedConnections(count: number): void;
  /** To be asked once for each answer. */
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
