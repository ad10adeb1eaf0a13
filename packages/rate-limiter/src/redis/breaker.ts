/**
 * A circuit breaker for Redis.
 *
 * It opens after three failures within a second, or three in a row. While it is open, callers use
 * their local limits, so no caller waits for a Redis that is known to be down. After two seconds a
 * probe runs in the background. The breaker closes when the probe succeeds.
 */

const FAILURES_TO_OPEN = 3;
const FAILURE_WINDOW_MS = 1_000;
const OPEN_MS = 2_000;

/** Which limits are used: those in Redis, or this replica's share of them. */
export type RedisLimiterState =
  { readonly deciding: 'redis' } | { readonly deciding: 'local'; readonly error: unknown };

export interface BreakerOptions {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Resolves when Redis works again. */
  readonly probe: () => Promise<void>;
  readonly onStateChange: (state: RedisLimiterState) => void;
}

export interface Breaker {
  /** Whether to use Redis. If not, and if it is time, this starts a probe. */
  isClosed(): boolean;
  succeeded(): void;
  failed(error: unknown): void;
}

export function createBreaker({ now, probe, onStateChange }: BreakerOptions): Breaker {
  let failureTimes: number[] = [];
  let failuresInARow = 0;
  /** Undefined while closed. */
  let probeAt: number | undefined;
  let isProbing = false;

  function open(error: unknown): void {
    probeAt = now() + OPEN_MS;
    onStateChange({ deciding: 'local', error });
  }

  function close(): void {
    probeAt = undefined;
    failureTimes = [];
    failuresInARow = 0;
    onStateChange({ deciding: 'redis' });
  }

  function startProbe(): void {
    isProbing = true;
    probe()
      .then(close, () => {
        probeAt = now() + OPEN_MS;
      })
      .finally(() => {
        isProbing = false;
      });
  }

  return {
    isClosed() {
      if (probeAt === undefined) return true;
      if (!isProbing && now() >= probeAt) startProbe();
      return false;
    },
    succeeded() {
      failuresInARow = 0;
    },
    failed(error) {
      if (probeAt !== undefined) return;
      const time = now();
      failuresInARow += 1;
      failureTimes = [...failureTimes, time].slice(-FAILURES_TO_OPEN);
      const earliest = failureTimes[0] ?? time;
      const areDense =
        failureTimes.length === FAILURES_TO_OPEN && time - earliest <= FAILURE_WINDOW_MS;
      if (areDense || failuresInARow >= FAILURES_TO_OPEN) open(error);
    },
  };
}
