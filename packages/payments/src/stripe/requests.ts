/** What all requests to Stripe share: what a failed one means, and the pages of lists. */

import Stripe from 'stripe';
import { PaymentProviderError } from '../provider.js';
import { UnreadableObjectError } from './facts.js';

/** Objects on a page of a list. The SDK reads page after page. */
export const PAGE = 100;

/** The objects that were created in a range. */
export function pagesOf({ from, until }: { readonly from: Date; readonly until: Date }) {
  const [gte, lt] = [Math.floor(from.getTime() / 1_000), Math.ceil(until.getTime() / 1_000)];
  return { created: { gte, lt }, limit: PAGE };
}

export async function reachingStripe<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw faultOf(error);
  }
}

/** @returns `undefined` for an object that Stripe does not have */
export async function existing<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    const isMissing =
      error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing';
    if (isMissing) return undefined;
    throw faultOf(error);
  }
}

/** Stripe's messages about a credential repeat part of it, so they are not passed on. */
export function faultOf(error: unknown): unknown {
  if (error instanceof UnreadableObjectError) {
    return new PaymentProviderError('refused', `Stripe sent an object whose ${error.message}`);
  }
  if (!(error instanceof Stripe.errors.StripeError)) return error;
  switch (error.type) {
    case 'StripeIdempotencyError':
      return new PaymentProviderError('reused', 'this id was used before for something else');
    case 'StripeAuthenticationError':
    case 'StripePermissionError':
      return new PaymentProviderError(
        'refused',
        'Stripe refuses the secret key, or the key lacks a permission',
      );
    case 'StripeInvalidRequestError':
      return new PaymentProviderError('refused', `Stripe refuses the request: ${error.message}`);
    default:
      return new PaymentProviderError('unavailable', `the request to Stripe failed: ${error.type}`);
  }
}
