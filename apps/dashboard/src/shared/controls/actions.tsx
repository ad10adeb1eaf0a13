/**
 * The dialog for each change that a person makes. It collects the input, shows the values before
 * and after, asks once, and sends the change under one id, so that a double click or a repetition
 * after a lost answer changes nothing twice.
 */

import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { newActionId } from '../api/api.js';
import type { Answer, Failure } from '../api/api.js';
import { Modal } from './modal.js';
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
  /**
   * The values before and after. Without them, the dialog makes the change as its fields are
   * complete, without a question: for what costs nothing and can be undone.
   */
  readonly changes?: (() => readonly Change[]) | undefined;
  /** What else was chosen, repeated with the question. Facts without a value are left out. */
  readonly facts?: readonly Fact[];
  /** Whether the fields are filled in already, so that the dialog begins with the question. */
  readonly asksAtOnce?: boolean;
  /** A warning that is shown with the question. */
  readonly warning?: ComponentChildren;
  /** The text of the button that makes the change, such as `Credit the account`. */
  readonly confirm: string;
  readonly isDangerous?: boolean;
  /** A text that the person types before a change that cannot be undone, such as a name. */
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

interface ShownStage {
  readonly name: string;
  readonly failure?: Failure;
}

/** A question cannot be answered before it has been on the screen for this long. */
const READING_MS = 500;

export function ActionDialog<Value>(props: ActionProps<Value>) {
  const { title, fields, problem, changes, onClose } = props;
  const { stage, setStage, act } = useAction(props);
  const isAtOnce = changes === undefined;
  const [showsProblem, setShowsProblem] = useState(false);
  const titleId = useId();
  const questionId = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  const [typed, setTyped] = useState('');
  const hasFields = stage.name === 'fields' || (isAtOnce && stage.name !== 'done');
  const asks = !hasFields && stage.name !== 'done';
  const canConfirm =
    useShownFor(asks) && (props.typed === undefined || typed.trim() === props.typed);

  // The next stage does not have the button that had the focus. With the focus on the heading,
  // screen readers read the question, and no key confirms it. When a dialog with fields opens, the
  // browser itself sets the focus, and would choose the heading if that could already have it.
  const shownStage = useRef<Stage<Value>['name']>('fields');
  useLayoutEffect(() => {
    const shown = hasFields ? 'fields' : stage.name;
    if (shownStage.current === shown || heading.current === null) return;
    shownStage.current = shown;
    heading.current.tabIndex = -1;
    heading.current.focus();
  }, [stage.name, hasFields]);

  function submit(event: Event) {
    event.preventDefault();
    if (!hasFields) {
      if (canConfirm) void act();
    } else if (problem !== undefined) {
      setShowsProblem(true);
    } else if (isAtOnce) {
      void act();
    } else {
      setStage({ name: 'question' });
    }
  }

  const showsSecret = stage.name === 'done' && props.isSecret?.(stage.value) === true;
  // The answer may have a secret. Without it, the change could be made again under another id.
  const mustStay = showsSecret || stage.name === 'sending';
  return (
    <Modal labelledBy={titleId} onClose={mustStay ? undefined : onClose}>
      <form class="stack" onSubmit={submit}>
        <h2
          ref={heading}
          id={titleId}
          aria-describedby={stage.name === 'question' ? questionId : undefined}
        >
          {title}
        </h2>
        {hasFields && (
          <FieldsStage
            fields={fields}
            problem={showsProblem ? problem : undefined}
            next={isAtOnce ? props.confirm : 'Continue'}
            stage={stage}
            onClose={onClose}
          />
        )}
        {asks && (
          <QuestionStage
            {...props}
            id={questionId}
            stage={stage}
            typed={props.typed === undefined ? undefined : { name: props.typed, text: typed }}
            onTyped={setTyped}
            canConfirm={canConfirm}
            onBack={() => {
              setStage({ name: 'fields' });
            }}
          />
        )}
        {stage.name === 'done' && (
          <DoneStage isSecret={showsSecret} onClose={onClose}>
            {props.done(stage.value)}
          </DoneStage>
        )}
      </form>
    </Modal>
  );
}

/** The stage of the dialog, and the change, which is sent under one id. */
function useAction<Value>({ fields, problem, asksAtOnce, run, onDone }: ActionProps<Value>) {
  const [actionId] = useState(newActionId);
  const [stage, setStage] = useState<Stage<Value>>({
    name:
      fields === undefined || (asksAtOnce === true && problem === undefined)
        ? 'question'
        : 'fields',
  });
  const isSending = useRef(false);

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
    onDone();
  }

  async function send() {
    try {
      return await run(actionId);
    } catch (error) {
      // A bug of this page. The question is shown again, so that the dialog can be closed.
      setStage({ name: 'question' });
      throw error;
    } finally {
      isSending.current = false;
    }
  }

  return { stage, setStage, act };
}

function FieldsStage(props: {
  readonly fields: ComponentChildren;
  readonly problem: string | undefined;
  /** The text of the button. */
  readonly next: string;
  readonly stage: ShownStage;
  readonly onClose: () => void;
}) {
  const { fields, problem, next, stage, onClose } = props;
  const isSending = stage.name === 'sending';
  return (
    <>
      {fields}
      {problem !== undefined && (
        <p class="note bad" role="alert">
          {problem}
        </p>
      )}
      {stage.failure !== undefined && <FailureNote failure={stage.failure} what="this change" />}
      <div class="row">
        <button
          type="submit"
          class="main"
          disabled={isSending}
          aria-busy={isSending}
          onClick={ignoreSecondClick}
        >
          {next}
        </button>
        <button type="button" disabled={isSending} onClick={onClose}>
          Cancel
        </button>
        {isSending && <span role="status">Sending…</span>}
      </div>
    </>
  );
}

interface QuestionProps extends Pick<
  ActionProps<unknown>,
  'fields' | 'changes' | 'facts' | 'warning' | 'confirm' | 'isDangerous' | 'onClose'
> {
  readonly id: string;
  readonly stage: ShownStage;
  /** The name that has to be typed, and what was typed. */
  readonly typed: { readonly name: string; readonly text: string } | undefined;
  readonly onTyped: (text: string) => void;
  readonly canConfirm: boolean;
  readonly onBack: () => void;
}

function QuestionStage(props: QuestionProps) {
  const { fields, facts, warning, confirm, isDangerous, stage, typed, canConfirm } = props;
  const isSending = stage.name === 'sending';
  return (
    <>
      <div id={props.id} class="stack">
        {props.changes?.().map((change) => (
          <BeforeAndAfter key={change.what} change={change} />
        ))}
        {facts !== undefined && <Facts facts={facts} />}
        {warning !== undefined && <p>{warning}</p>}
      </div>
      {typed !== undefined && (
        <TextField
          label={`Type "${typed.name}" to confirm`}
          value={typed.text}
          onValue={props.onTyped}
        />
      )}
      {stage.failure !== undefined && <FailureNote failure={stage.failure} what="this change" />}
      <div class="row">
        <button
          type="submit"
          class={isDangerous === true ? 'danger' : 'main'}
          disabled={isSending || !canConfirm}
          aria-busy={isSending}
          onClick={ignoreSecondClick}
        >
          {confirm}
        </button>
        {fields !== undefined && (
          <button type="button" disabled={isSending} onClick={props.onBack}>
            Back
          </button>
        )}
        <button type="button" disabled={isSending} onClick={props.onClose}>
          Cancel
        </button>
        {isSending && <span role="status">Sending…</span>}
      </div>
    </>
  );
}

function BeforeAndAfter({ change: { what, before, after } }: { readonly change: Change }) {
  return (
    <div class="stack">
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
  );
}

function DoneStage(props: {
  readonly isSecret: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <>
      <div role="status" class="stack">
        {props.children}
      </div>
      <div class="row">
        <button
          type="button"
          class="main"
          onClick={(event) => {
            if (event.detail < 2) props.onClose();
          }}
        >
          {props.isSecret ? 'I have copied it' : 'Close'}
        </button>
      </div>
    </>
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
