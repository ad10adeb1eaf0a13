export { createRedisLimiter } from './limiter.js';
export type { RedisLimiterOptions } from './limiter.js';
export { RedisTimeoutError } from './client.js';
export type { RedisClient } from './client.js';
export type { RedisLimiterState } from './breaker.js';
