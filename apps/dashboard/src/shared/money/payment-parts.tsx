/** The texts for the state and the origin of a payment, for the customer's page and the console. */

import { Badge } from '../controls/parts.js';

const STATES = {
  open: ['plain', 'not paid yet'],
  pending: ['warning', 'on its way'],
  paid: ['good', 'paid'],
  failed: ['bad', 'failed'],
  expired: ['plain', 'expired'],
} as const;

export function PaymentState({ state }: { readonly state: keyof typeof STATES }) {
  const [tone, text] = STATES[state];
  return <Badge tone={tone}>{text}</Badge>;
}

export const PAYMENT_ORIGINS = {
  key: 'Started by the customer',
  operator: 'Payment link from the operator',
  auto_top_up: 'Auto top-up',
} as const;
