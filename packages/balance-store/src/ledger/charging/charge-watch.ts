/**
 * Knows whether charges can be recorded at the moment, so that no request is sent upstream that
 * could not be charged.
 *
 * There are two questions to the database. The cheap one is asked twice a second: does it answer,
 * and would it accept writes? It changes nothing. The other one records a charge as far as that is
 * possible without leaving a trace. It is asked when a charge has failed, and then twice a second
 * until it succeeds, so that the first charge after a fault is not a customer's.
 *
 * Charges that wait and have failed come first. Until one of them is recorded, a successful probe
 * does not end a fault: PostgreSQL whose disk is full restarts, records a probe, and fails again
 * with the charges of the requests that were admitted in between. Nor may charges fail for long
 * while each probe succeeds.
 */

import { types } from 'node:util';
import { StoreUnavailableError } from '../../store.js';

export interface ChargingChecks {
  /** @throws {Error} if the database does not answer, or would refuse writes */
  readonly check: () => Promise<ChargingCheck>;
  /** @throws {Error} if a charge cannot be recorded now */
  readonly probe: () => Promise<void>;
}

export interface ChargingCheck {
  /** How far the clock of the database is ahead of this process's; `undefined` without a server. */
  readonly clockSkewMs: number | undefined;
}

/** The charges that wait to be recorded. */
export interface WaitingCharges {
  /** For how long attempts have failed; 0 if the last one succeeded, or no charge waits. */
  readonly failingForMs: number;
  readonly lastFault: unknown;
  /** Ends the pauses before the next attempts. */
  retryNow(): void;
}

export interface ChargeWatch {
  /** Why no charge can be recorded; `undefined` while nothing speaks against it. */
  readonly fault: StoreUnavailableError | undefined;
  readonly clockSkewMs: number | undefined;
  /** A charge failed with an error of the database. Probes at once. */
  readonly suspect: () => void;
  readonly stop: () => void;
}

const PERIOD_MS = 500;
/** After charges have failed for this long, no probe is believed. */
const GRACE_MS = 2_000;

/** @param isPeriodic - Whether to check without a suspicion. If false, only `suspect` does. */
export function createChargeWatch(
  { check, probe }: ChargingChecks,
  { charges, isPeriodic }: { readonly charges: WaitingCharges; readonly isPeriodic: boolean },
): ChargeWatch {
  /** What the last check or probe that failed has found, until charges can be recorded again. */
  let found: StoreUnavailableError | undefined;
  /** Whether a probe has succeeded after that. */
  let isProbed = false;
  let clockSkewMs: number | undefined;
  let isSuspected = false;
  let isLooking = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  function foundNow(): StoreUnavailableError | undefined {
    if (isProbed && charges.failingForMs === 0) found = undefined;
    return found;
  }

  async function look(): Promise<void> {
    if (isLooking || isStopped) return;
    isLooking = true;
    clearTimeout(timer);
    const isFault = foundNow() !== undefined;
    const probes = isSuspected || isFault;
    isSuspected = false;
    try {
      if (probes) {
        await probe();
        isProbed = true;
        // Not without a fault: a charge that fails by itself would be sent again and again.
        if (isFault) charges.retryNow();
      } else {
        ({ clockSkewMs } = await check());
      }
    } catch (error) {
      found = chargingFaultOf(error);
      isProbed = false;
    }
    isLooking = false;
    if (isSuspected && foundNow() === undefined) return look();
    lookLater();
  }

  function lookLater(): void {
    if (isStopped || !(isPeriodic || foundNow() !== undefined)) return;
    timer = setTimeout(() => void look(), PERIOD_MS).unref();
  }

  lookLater();
  return {
    get fault() {
      const fault = foundNow();
      if (fault !== undefined || charges.failingForMs <= GRACE_MS) return fault;
      return chargingFaultOf(charges.lastFault);
    },
    get clockSkewMs() {
      return clockSkewMs;
    },
    suspect() {
      if (isSuspected || foundNow() !== undefined) return;
      isSuspected = true;
      void look();
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

function chargingFaultOf(error: unknown): StoreUnavailableError {
  const reason = types.isNativeError(error) ? error.message : String(error);
  return new StoreUnavailableError(
    `the ledger's database cannot record charges at the moment: ${reason}`,
    { cause: error },
  );
}
