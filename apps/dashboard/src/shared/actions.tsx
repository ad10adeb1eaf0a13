/**
 * The dialog for each change that a person makes. It collects the input, shows the values before
 * and after, asks once, and sends the change under one id, so that a double click or a repetition
 * after a lost answer changes nothing twice.
 */

import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { newActionId } from './api.js';
import type { Answer, Failure } from './api.js';
import { Facts, FailureNote, TextField } from './parts.js';
import type { Fact } from './parts.js';

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
  /** What else was chosen, repeated with the question. Facts without a value are left out. */
  readonly facts?: readonly Fact[];
  /** A warning that is shown with the question. */
  readonly warning?: ComponentChildren;
  /** The text of the button that makes the change, such as `Credit the account`. */
  readonly confirm: string;
  readonly isDangerous?: boolean;
  /** A name that the person types before a change that cannot be undone. */
  readonly typed?: string | undefined;
  readonly run: (actionId: string) => Promise<Answer<Value>>;
  /** The content that is shown after the change. */
  readonly done: (value: Value) => ComponentChildren;
  /**
   * Whether `done` shows a secret for the only time. The dialog then stays until the person says
   * that it is copied.
   */
  readonly isSecret?: (value: Value) => boolean;
}

type Stage<Value> =
  | { readonly name: 'fields' | 'question' | 'sending' }
  | { readonly name: 'failed'; readonly failure: Failure }
  | { readonly name: 'done'; readonly value: Value };

/** A question cannot be answered before it has been on the screen for this long. */
const READING_MS = 500;

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
  const [typed, setTyped] = useState('');
  const asks = stage.name !== 'fields' && stage.name !== 'done';
  const canConfirm =
    useShownFor(asks) && (props.typed === undefined || typed.trim() === props.typed);

  // The next stage does not have the button that had the focus. With the focus on the heading,
  // screen readers read the question, and no key confirms it. When a dialog with fields opens, the
  // browser itself sets the focus, and would choose the heading if that could already have it.
  const shownStage = useRef<Stage<Value>['name']>('fields');
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
      if (canConfirm) void act();
    } else if (problem === undefined) {
      setStage({ name: 'question' });
    } else {
      setShowsProblem(true);
    }
  }

  const showsSecret = stage.name === 'done' && props.isSecret?.(stage.value) === true;
  return (
    <Modal labelledBy={titleId} onClose={showsSecret ? undefined : onClose}>
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
              {props.facts !== undefined && <Facts facts={props.facts} />}
              {props.warning !== undefined && <p>{props.warning}</p>}
            </div>
            {props.typed !== undefined && (
              <TextField
                label={`Type the name "${props.typed}" to confirm`}
                value={typed}
                onValue={setTyped}
              />
            )}
            {stage.name === 'failed' && <FailureNote failure={stage.failure} what="this change" />}
            <div class="row">
              <button
                type="submit"
                class={props.isDangerous === true ? 'danger' : 'main'}
                disabled={stage.name === 'sending' || !canConfirm}
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
                {showsSecret ? 'I have copied it' : 'Close'}
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

/** Whether the question has been on the screen long enough to be read. */
function useShownFor(isShown: boolean): boolean {
  const [hasPassed, setHasPassed] = useState(false);
  useLayoutEffect(() => {
    setHasPassed(false);
    if (!isShown) return undefined;
    const timer = setTimeout(() => {
      setHasPassed(true);
    }, READING_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [isShown]);
  return isShown && hasPassed;
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

/** @param props.onClose - `undefined` while Escape must not close the dialog. */
function Modal(props: {
  readonly labelledBy: string;
  readonly onClose: (() => void) | undefined;
  readonly children: ComponentChildren;
}) {
  const { labelledBy, onClose, children } = props;
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
      aria-labelledby={labelledBy}
      onKeyDown={(event) => {
        ignoreRepeatedKey(event);
        // A browser lets a page refuse only the first of two closings by Escape, but each key.
        if (event.key === 'Escape' && onClose === undefined) event.preventDefault();
      }}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      {children}
    </dialog>
  );
}
