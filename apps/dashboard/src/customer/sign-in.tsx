/** The form with which the holder of a key signs in. */

import { SignInForm } from '../shared/controls/sign-in-form.js';
import { returned } from './paying.js';
import { signIn } from './session.js';

export function SignIn({ message }: { readonly message: string | undefined }) {
  return (
    <SignInForm
      title="Usage and balance"
      intro={<Intro />}
      message={message}
      label="API key"
      hint="It is sent to this gateway only, and exchanged for a session of at most a day. The page does not store it."
      unknown="This gateway does not know this key. Check that you copied all of it, or ask your operator."
      what="your balance"
      signIn={signIn}
    />
  );
}

function Intro() {
  return (
    <>
      <p class="quiet">Sign in with an API key of this gateway to see its balance and its usage.</p>
      {returned.value !== undefined && (
        <p class="note plain" role="status">
          {returned.value.page === 'payment'
            ? 'You are back from the payment page. Sign in again to see your balance. A payment is credited even if you do not.'
            : 'You are back from the page that saves a payment method. Sign in again to see your order.'}
        </p>
      )}
    </>
  );
}
