/** What lists of things that one may change have in common: a head, and the buttons of each row. */

import type { ComponentChildren } from 'preact';

/** @param props.add - Shown only to those who may act. */
export function ListHead(props: {
  readonly title: ComponentChildren;
  readonly mayAct: boolean;
  readonly add: string;
  readonly onAdd: () => void;
}) {
  const { title, mayAct, add, onAdd } = props;
  return (
    <div class="row spread">
      <h2>{title}</h2>
      {mayAct && (
        <button type="button" class="main" onClick={onAdd}>
          {add}
        </button>
      )}
    </div>
  );
}

export function ActionButtons<Action extends string>(props: {
  /** What they act on. */
  readonly name: string;
  readonly actions: readonly Action[];
  readonly labels: Readonly<Record<Action, string>>;
  /** The action that cannot be taken back. */
  readonly danger: NoInfer<Action>;
  readonly isDisabled?: (action: Action) => boolean;
  readonly act: (action: Action) => void;
}) {
  const { name, actions, labels, danger, isDisabled, act } = props;
  return (
    <div class="row actions">
      {actions.map((action) => (
        <button
          key={action}
          type="button"
          class={`small ${action === danger ? 'danger' : ''}`}
          disabled={isDisabled?.(action) ?? false}
          aria-label={`${labels[action]}: ${name}`}
          onClick={() => {
            act(action);
          }}
        >
          {labels[action]}
        </button>
      ))}
    </div>
  );
}
