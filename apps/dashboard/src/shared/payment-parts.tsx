/** The names of the states and the origins of a payment, on both pages. */

import { Badge } from './parts.js';

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

export const PAYER_NAMES = {
  key: 'Paid on this page',
  operator: 'Link of the operator',
  auto_top_up: 'Auto top-up',
} as const;
