/** For whoever writes or uses a {@link BalanceStore}: the suite that every implementation passes. */

export { balanceStoreContract } from './contract.js';
export type { ContractOptions } from './contract.js';
export type { ContractRunner, StoreUnderTest } from './subject.js';
export { chargeOf, sampleLimits, settlement } from './samples.js';
