/** A read-only link for someone else, such as the finance department. */

import { useState } from 'preact/hooks';
import { LinkDialog } from '../shared/keys/read-link.js';
import { call, gatewayUrl } from './session.js';

export function ShareLink() {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class="no-print"
        onClick={() => {
          setIsOpen(true);
        }}
      >
        Share a read-only link
      </button>
      {isOpen && (
        <LinkDialog
          title="Share a read-only link"
          keyText="this key"
          clientUrl={gatewayUrl}
          make={(seconds) =>
            call('POST /v1/dashboard/links', { body: { expires_in_seconds: seconds } })
          }
          onDone={() => undefined}
          onClose={() => {
            setIsOpen(false);
          }}
        />
      )}
    </>
  );
}
