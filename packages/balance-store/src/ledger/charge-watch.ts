/**
 * Knows whether charges can be recorded at the moment, so that no request is sent upstream that
 * could not be charged.
 *
 * There are two questions to the database. The cheap one is asked twice a second: does it answer,
 * and would it accept writes? It changes nothing. The other one records a charge as far as that is
 * possible without leaving a trace. It is asked when a charge has failed, and then twice a second
 * until it succeeds, so that the first charge after a fault is not a customer's.
 */

import { types } from 'node:util';
import { StoreUnavailableError } from '../store.js';

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

export interface ChargeWatch {
  /** Why no charge can be recorded; `undefined` while nothing speaks against it. */
  readonly fault: StoreUnavailableError | undefined;
  readonly clockSkewMs: number | undefined;
  /** A charge failed with an error of the database. Probes at once. */
  readonly suspect: () => void;
  readonly stop: () => void;
}

const PERIOD_MS = 500;

/** @param isPeriodic - Whether to check without a suspicion. If false, only `suspect` does. */
export function createChargeWatch(
  { check, probe }: ChargingChecks,
  { isPeriodic }: { readonly isPeriodic: boolean },
): ChargeWatch {
  let fault: StoreUnavailableError | undefined;
  let clockSkewMs: number | undefined;
  let isSuspected = false;
  let isLooking = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    if (isLooking || isStopped) return;
    isLooking = true;
    clearTimeout(timer);
    const probes = isSuspected || fault !== undefined;
    isSuspected = false;
    try {
      if (probes) {
        await probe();
        fault = undefined;
      } else {
        ({ clockSkewMs } = await check());
      }
    } catch (error) {
      fault = chargingFaultOf(error);
    }
    isLooking = false;
    if (isSuspected && fault === undefined) return look();
    lookLater();
  }

  function lookLater(): void {
    if (isStopped || !(isPeriodic || fault !== undefined)) return;
    timer = setTimeout(() => void look(), PERIOD_MS).unref();
  }

  lookLater();
  return {
    get fault() {
      return fault;
    },
    get clockSkewMs() {
      return clockSkewMs;
    },
    suspect() {
      if (isSuspected || fault !== undefined) return;
      isSuspected = true;
      void look();
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

export function chargingFaultOf(error: unknown): StoreUnavailableError {
  const reason = types.isNativeError(error) ? error.message : String(error);
  return new StoreUnavailableError(
    `the ledger's database cannot record charges at the moment: ${reason}`,
    { cause: error },
  );
}
