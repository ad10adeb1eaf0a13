/**
 * A simulated Stripe on localhost, for tests: the part of its API that the provider uses, its
 * Checkout page, and its notifications, signed by the official SDK. Its objects have the SDK's own
 * types.
 */

export { startStripeSimulator } from './stripe-simulator.js';
export type {
  CardBehavior,
  SimulatedEvent,
  StripeSimulator,
  StripeSimulatorOptions,
} from './stripe-simulator.js';
