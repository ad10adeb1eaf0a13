/** The form with which the holder of a key signs in. */

import { useState } from 'preact/hooks';
import { SignInForm } from '../shared/sign-in-form.js';
import { returned } from './paying.js';
import { signIn, signInMessage } from './session.js';

export function SignIn() {
  const [keepForTab, setKeepForTab] = useState(false);
  return (
    <SignInForm
      title="Usage and balance"
      intro={<Intro />}
      message={signInMessage.value}
      label="API key"
      hint="It is sent to this gateway only, and is never part of an address."
      unknown="This gateway does not know this key. Check that you copied all of it, or ask your operator."
      what="your balance"
      signIn={(key) => signIn(key, { keepForTab })}
    >
      <label class="switch">
        <input
          type="checkbox"
          checked={keepForTab}
          onChange={(event) => {
            setKeepForTab(event.currentTarget.checked);
          }}
        />{' '}
        Keep me signed in in this tab
      </label>
    </SignInForm>
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
