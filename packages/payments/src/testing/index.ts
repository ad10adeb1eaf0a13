/**
 * A simulated Stripe on localhost, for tests. It has the part of Stripe's API that
 * `createStripeProvider` uses, a Checkout page, and notifications signed by the official SDK. Its
 * objects have the SDK's own types.
 */

export type { SimulatedSettlement, SimulatedTax } from './money.js';
export type { SignedEvent, SimulatedEvent, StripeEvents } from './notifications.js';
export type { CardBehavior, StripeActions } from './records.js';
export { startStripeSimulator } from './stripe-simulator.js';
export type { StripeSimulator, StripeSimulatorOptions } from './stripe-simulator.js';
