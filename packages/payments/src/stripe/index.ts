export { createStripeProvider } from './stripe-provider.js';
export type { StripeOptions } from './stripe-provider.js';
export { NOTIFIED_EVENTS } from './facts-of-event.js';
