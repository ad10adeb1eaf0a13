/** Shares limits between workers without Redis: the primary decides for all of them. */

import type { Lease, Limiter, MemoryLimiter } from '@gateway/rate-limiter';
import { reach } from './rpc.js';
import type { RpcTo } from './rpc.js';

type SharedAdmission =
  | { readonly outcome: 'admitted'; readonly lease: number; readonly remaining: number }
  | Extract<Awaited<ReturnType<Limiter['admit']>>, { readonly outcome: 'denied' }>;

export type LimitCalls = ReturnType<typeof shareLimits>['calls'];

/** The primary's side, for one worker. */
export function shareLimits(limiter: MemoryLimiter) {
  const leases = new Map<number, Lease>();
  let last = 0;

  return {
    calls: {
      admit(...args: Parameters<Limiter['admit']>): SharedAdmission {
        const admission = limiter.admit(...args);
        if (admission.outcome === 'denied') return admission;
        last += 1;
        leases.set(last, admission.lease);
        return { outcome: 'admitted', lease: last, remaining: admission.remaining };
      },
      release(lease: number): void {
        leases.get(lease)?.release();
        leases.delete(lease);
      },
      record: (...args: Parameters<Limiter['record']>) => limiter.record(...args),
      leases: (...args: Parameters<Limiter['leases']>) => limiter.leases(...args),
    },
    /** Releases the worker's leases. Call it when the worker has ended, normally or not. */
    leave(): void {
      for (const lease of leases.values()) lease.release();
      leases.clear();
    },
  };
}

/** The worker's side. */
export function remoteLimiter(rpc: RpcTo<LimitCalls>): Limiter {
  return {
    async admit(subject, policy, group) {
      const admission = await reach(rpc, () => rpc.admit(subject, policy, group));
      if (admission.outcome === 'denied') return admission;
      let isHeld = true;
      return {
        outcome: 'admitted',
        remaining: admission.remaining,
        lease: {
          release() {
            if (!isHeld) return;
            isHeld = false;
            // When a worker ends, the primary releases its leases.
            reach(rpc, () => rpc.release(admission.lease)).catch(() => undefined);
          },
        },
      };
    },
    record: (subject, policy) => reach(rpc, () => rpc.record(subject, policy)),
    leases: (subject, group) => reach(rpc, () => rpc.leases(subject, group)),
    close: () => undefined,
  };
}
