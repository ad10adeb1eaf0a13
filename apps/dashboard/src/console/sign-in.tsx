/** The form with which an operator signs in, with an admin token. */

import { CodeBlock } from '../shared/controls/parts.js';
import { SignInForm } from '../shared/controls/sign-in-form.js';
import { signIn } from './session.js';

export function SignIn({ message }: { readonly message: string | undefined }) {
  return isSecureContext ? <TokenForm message={message} /> : <NeedsTls />;
}

function TokenForm({ message }: { readonly message: string | undefined }) {
  return (
    <SignInForm
      title="Farthing console"
      message={message}
      label="Admin token"
      hint="The value of ADMIN_TOKEN, or of one of ADMIN_TOKENS. It is exchanged for a session of at most 12 hours. On the gateway's machine, farthing console-link prints a link that signs in."
      unknown="This is not an admin token of this gateway."
      what="the log-in"
      signIn={signIn}
    />
  );
}

/** The gateway would refuse the log-in here, and the form would send the token without TLS. */
function NeedsTls() {
  const port = location.port === '' ? '80' : location.port;
  return (
    <div class="card sign-in">
      <h1>Farthing console</h1>
      <p class="note warning" role="status">
        This page was opened without TLS, so nobody can sign in here: others on the network could
        read the token.
      </p>
      <p>Open a tunnel to the gateway's machine:</p>
      <CodeBlock
        text={`ssh -N -L ${port}:127.0.0.1:${port} ${location.hostname}`}
        what="the command for the tunnel"
      />
      <p>
        Then open <a href={`http://127.0.0.1:${port}${location.pathname}`}>the console there</a>. Or
        put a proxy with TLS in front of the admin port.
      </p>
    </div>
  );
}
