/**
 * The dialog for each change that a person makes. It collects the input, shows the values before
 * and after, asks once, and sends the change under one id, so that a double click or a repetition
 * after a lost answer changes nothing twice.
 */

import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { newActionId } from './api.js';
import type { Answer, Failure } from './api.js';
import { FailureNote } from './parts.js';

export interface Change {
  readonly what: string;
  readonly before: ComponentChildren;
  readonly after: ComponentChildren;
}

export interface DialogCallbacks {
  /** Called after the change, so that the screen behind the dialog is loaded again. */
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export interface ActionProps<Value> extends DialogCallbacks {
  readonly title: string;
  /** The fields, where there are any. Without them, the dialog begins with the question. */
  readonly fields?: ComponentChildren;
  /** The field that is missing or wrong, as a sentence. */
  readonly problem?: string | undefined;
  readonly changes: () => readonly Change[];
  /** A warning that is shown with the question. */
  readonly warning?: ComponentChildren;
  /** The text of the button that makes the change, such as `Credit the account`. */
  readonly confirm: string;
  readonly isDangerous?: boolean;
  readonly run: (actionId: string) => Promise<Answer<Value>>;
  /** The content that is shown after the change. */
  readonly done: (value: Value) => ComponentChildren;
}

type Stage<Value> =
  | { readonly name: 'fields' | 'question' | 'sending' }
  | { readonly name: 'failed'; readonly failure: Failure }
  | { readonly name: 'done'; readonly value: Value };

export function ActionDialog<Value>(props: ActionProps<Value>) {
  const { title, fields, problem, changes, confirm, onClose } = props;
  const [actionId] = useState(newActionId);
  const [stage, setStage] = useState<Stage<Value>>({
    name: fields === undefined ? 'question' : 'fields',
  });
  const [showsProblem, setShowsProblem] = useState(false);
  const titleId = useId();
  const questionId = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  const isSending = useRef(false);

  // The next stage does not have the button that had the focus. With the focus on the heading,
  // screen readers read the question. When the dialog opens, the browser itself sets the focus, and
  // would choose the heading if that could already have it.
  const shownStage = useRef(stage.name);
  useLayoutEffect(() => {
    if (shownStage.current === stage.name || heading.current === null) return;
    shownStage.current = stage.name;
    heading.current.tabIndex = -1;
    heading.current.focus();
  }, [stage.name]);

  async function act() {
    // A second click can arrive before the button is drawn as disabled.
    if (isSending.current) return;
    isSending.current = true;
    setStage({ name: 'sending' });
    const answer = await send();
    if (!answer.ok) {
      setStage({ name: 'failed', failure: answer.failure });
      return;
    }
    setStage({ name: 'done', value: answer.value });
    props.onDone();
  }

  async function send() {
    try {
      return await props.run(actionId);
    } catch (error) {
      // A bug of this page. The question is shown again, so that the dialog can be closed.
      setStage({ name: 'question' });
      throw error;
    } finally {
      isSending.current = false;
    }
  }

  function submit(event: Event) {
    event.preventDefault();
    if (stage.name !== 'fields') {
      void act();
    } else if (problem === undefined) {
      setStage({ name: 'question' });
    } else {
      setShowsProblem(true);
    }
  }

  return (
    <Modal labelledBy={titleId} onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <h2
          ref={heading}
          id={titleId}
          aria-describedby={stage.name === 'question' ? questionId : undefined}
        >
          {title}
        </h2>
        {stage.name === 'fields' && (
          <>
            {fields}
            {showsProblem && problem !== undefined && (
              <p class="note bad" role="alert">
                {problem}
              </p>
            )}
            <div class="row">
              <button type="submit" class="main" onClick={ignoreSecondClick}>
                Continue
              </button>
              <button type="button" onClick={onClose}>
                Cancel
              </button>
            </div>
          </>
        )}
        {(stage.name === 'question' || stage.name === 'sending' || stage.name === 'failed') && (
          <>
            <div id={questionId} class="stack">
              {changes().map(({ what, before, after }) => (
                <div class="stack" key={what}>
                  <h3>{what}</h3>
                  <div class="change">
                    <div class="figure">
                      <span class="label">Before</span>
                      <span class="value">{before}</span>
                    </div>
                    <span aria-hidden="true">→</span>
                    <div class="figure">
                      <span class="label">After</span>
                      <span class="value">{after}</span>
                    </div>
                  </div>
                </div>
              ))}
              {props.warning !== undefined && <p>{props.warning}</p>}
            </div>
            {stage.name === 'failed' && <FailureNote failure={stage.failure} what="this change" />}
            <div class="row">
              <button
                type="submit"
                class={props.isDangerous === true ? 'danger' : 'main'}
                disabled={stage.name === 'sending'}
                onClick={ignoreSecondClick}
              >
                {confirm}
              </button>
              {fields !== undefined && (
                <button
                  type="button"
                  disabled={stage.name === 'sending'}
                  onClick={() => {
                    setStage({ name: 'fields' });
                  }}
                >
                  Back
                </button>
              )}
              <button type="button" disabled={stage.name === 'sending'} onClick={onClose}>
                Cancel
              </button>
              {stage.name === 'sending' && <span role="status">Sending…</span>}
            </div>
          </>
        )}
        {stage.name === 'done' && (
          <>
            <div role="status" class="stack">
              {props.done(stage.value)}
            </div>
            <div class="row">
              <button
                type="button"
                class="main"
                onClick={(event) => {
                  if (event.detail < 2) onClose();
                }}
              >
                Close
              </button>
            </div>
          </>
        )}
      </form>
    </Modal>
  );
}

/**
 * The second click of a double click can hit a button or a switch that has replaced the first one.
 * It must not confirm a question that nobody has read, or close a text that is shown only once.
 */
export function ignoreSecondClick(event: MouseEvent): void {
  if (event.detail > 1) event.preventDefault();
}

function Modal(props: {
  readonly labelledBy: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    const opener = document.activeElement;
    element?.showModal();
    return () => {
      // While a modal dialog is open, nothing outside it can have the focus.
      element?.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={props.labelledBy}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
    >
      {props.children}
    </dialog>
  );
}
