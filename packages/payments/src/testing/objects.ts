/** Creates objects with every member that Stripe sends and that the SDK's types require. */

import { randomBytes } from 'node:crypto';
import type Stripe from 'stripe';

export function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('hex')}`;
}

const CALCULATION_LIFETIME_SECONDS = 90 * 86_400;

/** The members that depend on the mode and the time. */
export interface Base {
  readonly livemode: boolean;
  /** Seconds since the epoch. */
  readonly created: number;
}

export function newSession(
  base: Base,
  given: Pick<
    Stripe.Checkout.Session,
    | 'mode'
    | 'amount_total'
    | 'client_reference_id'
    | 'metadata'
    | 'success_url'
    | 'cancel_url'
    | 'url'
    | 'expires_at'
    | 'id'
    | 'billing_address_collection'
  >,
): Stripe.Checkout.Session {
  return {
    ...base,
    ...given,
    object: 'checkout.session',
    adaptive_pricing: { enabled: false },
    after_expiration: null,
    allow_promotion_codes: null,
    allowed_payment_method_types: null,
    amount_subtotal: given.amount_total,
    automatic_tax: { enabled: false, liability: null, provider: null, status: null },
    client_secret: null,
    collected_information: null,
    consent: null,
    consent_collection: null,
    currency: 'usd',
    currency_conversion: null,
    custom_fields: [],
    custom_text: {
      after_submit: null,
      shipping_address: null,
      submit: null,
      terms_of_service_acceptance: null,
    },
    customer: null,
    customer_account: null,
    customer_creation: 'always',
    customer_details: null,
    customer_email: null,
    discounts: null,
    integration_identifier: null,
    invoice: null,
    invoice_creation: null,
    locale: null,
    managed_payments: null,
    origin_context: null,
    payment_intent: null,
    payment_link: null,
    payment_method_collection: null,
    payment_method_configuration_details: null,
    payment_method_options: null,
    payment_method_types: ['card'],
    payment_status: given.mode === 'setup' ? 'no_payment_required' : 'unpaid',
    permissions: null,
    recovered_from: null,
    saved_payment_method_options: null,
    setup_intent: null,
    shipping_address_collection: null,
    shipping_cost: null,
    shipping_options: [],
    status: 'open',
    submit_type: null,
    subscription: null,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: 'hosted_page',
    wallet_options: null,
  };
}

export function newIntent(
  base: Base,
  given: Pick<
    Stripe.PaymentIntent,
    'amount' | 'currency' | 'customer' | 'metadata' | 'payment_method' | 'status' | 'hooks'
  >,
): Stripe.PaymentIntent {
  return {
    ...base,
    ...given,
    id: newId('pi'),
    object: 'payment_intent',
    allowed_payment_method_types: null,
    amount_capturable: 0,
    amount_received: given.status === 'succeeded' ? given.amount : 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: null,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic_async',
    client_secret: null,
    confirmation_method: 'automatic',
    customer_account: null,
    description: null,
    excluded_payment_method_types: null,
    last_payment_error: null,
    latest_charge: newId('ch'),
    managed_payments: null,
    next_action: null,
    on_behalf_of: null,
    payment_method_configuration_details: null,
    payment_method_options: null,
    payment_method_types: ['card'],
    payment_record: null,
    processing: null,
    receipt_email: null,
    review: null,
    setup_future_usage: null,
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    transfer_data: null,
    transfer_group: null,
  };
}

/** @param lines - The taxes of `amount`, which contains them if they are inclusive. */
export function newCalculation(
  { livemode, created }: Base,
  amount: number,
  lines: readonly Stripe.Checkout.Session.TotalDetails.Breakdown.Tax[],
): Stripe.Tax.Calculation {
  const sumOf = (isInclusive: boolean) =>
    lines.reduce(
      (sum, { amount: tax, rate }) => sum + (rate.inclusive === isInclusive ? tax : 0),
      0,
    );
  return {
    livemode,
    id: newId('taxcalc'),
    object: 'tax.calculation',
    amount_total: amount + sumOf(false),
    currency: 'usd',
    customer: null,
    customer_details: {
      address: null,
      address_source: 'billing',
      ip_address: null,
      tax_ids: [],
      taxability_override: 'none',
    },
    expires_at: created + CALCULATION_LIFETIME_SECONDS,
    ship_from_details: null,
    shipping_cost: null,
    tax_amount_exclusive: sumOf(false),
    tax_amount_inclusive: sumOf(true),
    tax_breakdown: lines.map(({ amount: tax, rate, taxable_amount }) => ({
      amount: tax,
      inclusive: rate.inclusive,
      tax_rate_details: {
        country: rate.country,
        flat_amount: null,
        // Stripe writes at least one decimal.
        percentage_decimal: rate.percentage.toFixed(4).replace(/0{1,3}$/, ''),
        rate_type: 'percentage',
        state: null,
        tax_type: 'vat',
      },
      taxability_reason: 'standard_rated',
      taxable_amount: taxable_amount ?? 0,
    })),
    tax_date: created,
  };
}

export function newSetupIntent(
  base: Base,
  given: Pick<Stripe.SetupIntent, 'customer' | 'payment_method' | 'metadata'>,
): Stripe.SetupIntent {
  return {
    ...base,
    ...given,
    id: newId('seti'),
    object: 'setup_intent',
    allowed_payment_method_types: null,
    application: null,
    automatic_payment_methods: null,
    cancellation_reason: null,
    client_secret: null,
    customer_account: null,
    description: null,
    excluded_payment_method_types: null,
    flow_directions: null,
    last_setup_error: null,
    latest_attempt: null,
    mandate: null,
    next_action: null,
    on_behalf_of: null,
    payment_method_configuration_details: null,
    payment_method_options: null,
    payment_method_types: ['card'],
    single_use_mandate: null,
    status: 'succeeded',
    usage: 'off_session',
  };
}

export function newRefund(
  { created }: Base,
  given: Pick<
    Stripe.Refund,
    'amount' | 'currency' | 'payment_intent' | 'charge' | 'status' | 'metadata'
  >,
): Stripe.Refund {
  return {
    ...given,
    created,
    id: newId('re'),
    object: 'refund',
    balance_transaction: null,
    customer: null,
    customer_account: null,
    payment_method: null,
    reason: null,
    receipt_number: null,
    source_transfer_reversal: null,
    transfer_reversal: null,
  };
}

export function newDispute(
  base: Base,
  given: Pick<Stripe.Dispute, 'amount' | 'currency' | 'charge' | 'payment_intent' | 'status'>,
): Stripe.Dispute {
  return {
    ...base,
    ...given,
    id: newId('du'),
    object: 'dispute',
    balance_transactions: [],
    enhanced_eligibility_types: [],
    evidence: {
      access_activity_log: null,
      billing_address: null,
      cancellation_policy: null,
      cancellation_policy_disclosure: null,
      cancellation_rebuttal: null,
      customer_communication: null,
      customer_email_address: null,
      customer_name: null,
      customer_purchase_ip: null,
      customer_signature: null,
      duplicate_charge_documentation: null,
      duplicate_charge_explanation: null,
      duplicate_charge_id: null,
      enhanced_evidence: {},
      product_description: null,
      receipt: null,
      refund_policy: null,
      refund_policy_disclosure: null,
      refund_refusal_explanation: null,
      service_date: null,
      service_documentation: null,
      shipping_address: null,
      shipping_carrier: null,
      shipping_date: null,
      shipping_documentation: null,
      shipping_tracking_number: null,
      uncategorized_file: null,
      uncategorized_text: null,
    },
    evidence_details: {
      due_by: null,
      enhanced_eligibility: {},
      has_evidence: false,
      past_due: false,
      submission_count: 0,
      submission_method: 'manual',
    },
    intended_submission_method: null,
    is_charge_refundable: false,
    metadata: {},
    reason: 'fraudulent',
  };
}
