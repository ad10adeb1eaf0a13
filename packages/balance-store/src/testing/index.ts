/** The tests that every `BalanceStore` passes, for authors and users of an implementation. */

export { closeAny } from './subject.js';
export { balanceStoreContract } from './contract.js';
export type { ContractOptions } from './contract.js';
export type { ContractRunner, StoreUnderTest } from './subject.js';
export { chargeOf, sampleLimits, settlement } from './samples.js';
