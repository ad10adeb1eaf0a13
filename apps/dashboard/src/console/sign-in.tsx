/** The form with which an operator signs in, with an admin token. */

import { SignInForm } from '../shared/sign-in-form.js';
import { signIn } from './session.js';

export function SignIn({ message }: { readonly message: string | undefined }) {
  return (
    <SignInForm
      title="Operator's console"
      message={message}
      label="Admin token"
      hint="The value of ADMIN_TOKEN, or of one of ADMIN_TOKENS. It is exchanged for a session of at most 12 hours."
      unknown="This is not an admin token of this gateway."
      what="the log-in"
      signIn={signIn}
    />
  );
}
