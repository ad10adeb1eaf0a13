/** The provider's whole messages, without a code, that the operator's account is out of use. */
export const ACCOUNT_SENTENCES: readonly string[] = [
  'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  'You have reached your specified API usage limits. You will regain access on 2026-06-01 at 00:00 UTC.',
  'You have reached your specified workspace API usage limits. You will regain access on 2026-06-01 at 00:00 UTC.',
  'This organization has been disabled.',
];
