export type { Decision } from './decision.js';
export type { Admission, Group, Lease, Limiter } from './limiter.js';
export { createMemoryLimiter } from './memory.js';
export type { MemoryLimiter, MemoryLimiterOptions } from './memory.js';
export type { LogPolicy, Policy } from './policy.js';
