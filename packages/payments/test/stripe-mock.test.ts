/**
 * Sends the provider's requests to Stripe's own mock server, which checks them against Stripe's
 * OpenAPI document and answers with fixed objects. The test is opt-in, because the mock server has
 * to be installed separately: `go install github.com/stripe/stripe-mock@latest`, start it, and set
 * `STRIPE_MOCK_URL=http://127.0.0.1:12111`.
 */

import { describe, expect, it } from '@jest/globals';
import { createStripeProvider } from '@gateway/payments/stripe';

const apiUrl = process.env['STRIPE_MOCK_URL'];

(apiUrl === undefined ? describe.skip : describe)("Stripe's mock server", () => {
  const provider = createStripeProvider({
    secretKey: 'sk_test_123',
    webhookSecrets: [],
    apiUrl,
  });
  const origin = { paymentId: 'pay_1', accountId: 'acct_1' };
  const pages = { successUrl: 'https://g.example/paid', cancelUrl: 'https://g.example/' };
  const method = { customerId: 'cus_1', methodId: 'pm_card_visa' };
  const card = { origin, amountCents: 500, tax: 'included', ...method } as const;

  // The fixed objects belong to other payments. Only an error would show that a request is wrong.
  it('accepts every request of the Stripe provider', async () => {
    const paymentId = 'pi_1';
    const started = [
      await provider.startCheckout({ origin, amountCents: 500, tax: 'added', ...pages }),
      await provider.startMethodSetup({ origin, tax: 'included', ...pages }),
    ];
    for (const { url } of started) expect(url).toMatch(/^https:/);
    await provider.readSavedMethod('seti_1');
    // The fixed payment waits for a method. A refused request would have another code.
    expect(await provider.chargeSavedMethod(card)).toEqual({
      outcome: 'declined',
      code: 'requires_payment_method',
    });
    await provider.findCharge(card, new Date());
    await provider.findPaid(paymentId);
    await provider.readDetails(paymentId);
    await provider.findReceipt(paymentId);
    await provider.findTransactions({ kind: 'payment', id: paymentId });
    await provider.findTransactions({ kind: 'transaction', id: 'txn_1' });
    const refund = { refundId: 'r1', providerPaymentId: paymentId, amountCents: 100 };
    expect((await provider.refund(refund)).outcome).toBe('made');
    const facts = [];
    const range = { from: new Date(0), until: new Date() };
    for await (const fact of provider.listFacts(range)) facts.push(fact);
    for await (const each of provider.listTransactions(range)) facts.push(each);
  });
});
