/**
 * The sums of the archived charges of one key in one run. A run is a range of an account's entry
 * numbers that has only charges, so the credits between two runs keep their place.
 */
export interface CarryRow {
  readonly accountId: string;
  readonly from: bigint;
  readonly to: bigint;
  readonly keyId: string;
  readonly archive: number;
  readonly charges: number;
  readonly charged: bigint;
  readonly writtenOff: bigint;
  readonly overCap: bigint;
  readonly firstAt: Date;
  readonly lastAt: Date;
  /** The account's balance after the last charge of the run. */
  readonly balanceAfter: bigint;
}

export type CarryPosition = Pick<CarryRow, 'accountId' | 'from' | 'keyId'>;
