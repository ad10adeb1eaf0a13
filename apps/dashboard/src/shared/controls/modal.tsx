/** A dialog above the page, which alone can have the focus while it is open. */

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** @param props.onClose - `undefined` while Escape must not close the dialog. */
export function Modal(props: {
  readonly labelledBy: string;
  readonly onClose: (() => void) | undefined;
  readonly children: ComponentChildren;
}) {
  const { labelledBy, onClose, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const latest = useRef(onClose);
  latest.current = onClose;
  useLayoutEffect(() => {
    const element = dialog.current;
    const opener = document.activeElement;
    element?.showModal();
    // A browser lets a page refuse only the first of two closings by Escape, but each key. Where a
    // button that had the focus is disabled, the key reaches only the document.
    const refuse = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && latest.current === undefined) event.preventDefault();
    };
    document.addEventListener('keydown', refuse);
    return () => {
      document.removeEventListener('keydown', refuse);
      // While a modal dialog is open, nothing outside it can have the focus.
      element?.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={labelledBy}
      onKeyDown={ignoreRepeatedKey}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      {children}
    </dialog>
  );
}

/** A key that is held down repeats its press, which must not press the next button as well. */
function ignoreRepeatedKey(event: KeyboardEvent): void {
  const isPress = event.key === 'Enter' || (event.key === ' ' && isButton(event.target));
  if (event.repeat && isPress && !(event.target instanceof HTMLTextAreaElement)) {
    event.preventDefault();
  }
}

function isButton(target: EventTarget | null): boolean {
  return target instanceof HTMLButtonElement;
}
