/** For whoever writes or uses a {@link BalanceStore}: the suite that every implementation passes. */

export { balanceStoreContract } from './contract.js';
export type { ContractOptions, ContractRunner, StoreUnderTest } from './contract.js';
export { chargeOf, sampleLimits, settlement } from './samples.js';
