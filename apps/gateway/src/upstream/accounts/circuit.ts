/**
 * A circuit opens when requests to an account fail, and requests then avoid the account for a
 * while. After that, one request at a time finds out whether the account serves again. Until it is
 * answered, all others still avoid the account.
 */

export interface Circuit {
  /** Whether requests avoid the account. */
  isOpen(): boolean;
  /** Whether the account has not answered a request well since the circuit opened. */
  isUnproven(): boolean;
  /** Never shortens the time for which it is open: the answer may be to an older request. */
  open(ms: number): void;
  /** A request is sent. If the time is over, it is the one that finds out. */
  sent(): void;
  /** The request that was to find out failed, perhaps through its own fault. The next one may. */
  failed(): void;
  /**
   * A request was answered well.
   *
   * @param sentAt - If the circuit opened after that, it stays open: the answer shows nothing new.
   */
  answered(sentAt: number): void;
}

/** If the request that finds out is not answered within this time, another one may as well. */
const PROBE_MS = 10_000;

/** @param now - Milliseconds from any origin. */
export function createCircuit(now: () => number): Circuit {
  let openedAt = -Infinity;
  /** 0 while the circuit is closed. */
  let openUntil = 0;
  let probedUntil = 0;
  return {
    isOpen() {
      if (openUntil === 0) return false;
      return now() < Math.max(openUntil, probedUntil);
    },
    isUnproven: () => openUntil !== 0,
    open(ms) {
      openedAt = now();
      openUntil = Math.max(openUntil, openedAt + ms);
      probedUntil = 0;
    },
    sent() {
      if (openUntil === 0) return;
      const at = now();
      if (at >= Math.max(openUntil, probedUntil)) probedUntil = at + PROBE_MS;
    },
    failed() {
      probedUntil = 0;
    },
    answered(sentAt) {
      if (sentAt < openedAt) return;
      openUntil = 0;
      probedUntil = 0;
    },
  };
}
