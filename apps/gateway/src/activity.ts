/** Counts exchanges under way, so that a shutdown can wait for the last of them. */
export interface Activity {
  readonly running: number;
  /** True once {@link Activity.drain} was called: no new work is taken. */
  readonly isDraining: boolean;
  begin(): void;
  end(): void;
  /** Stops new work and resolves when nothing runs any more, or after `deadlineMs`. */
  drain(deadlineMs: number): Promise<{ readonly abandoned: number }>;
}

export function createActivity(): Activity {
  let running = 0;
  let isDraining = false;
  let onIdle: (() => void) | undefined;
  return {
    get running() {
      return running;
    },
    get isDraining() {
      return isDraining;
    },
    begin() {
      running += 1;
    },
    end() {
      running -= 1;
      if (running === 0) onIdle?.();
    },
    async drain(deadlineMs) {
      isDraining = true;
      if (running > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, deadlineMs);
          onIdle = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      return { abandoned: running };
    },
  };
}
