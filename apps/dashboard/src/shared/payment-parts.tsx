/** How both pages name what a payment is. */

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
