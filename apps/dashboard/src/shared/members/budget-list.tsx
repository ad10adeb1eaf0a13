/** The budgets of an account, who used most of each, and the actions on them. */

import { useState } from 'preact/hooks';
import type { Paged } from '../api/pages.js';
import { useResource } from '../api/resource.js';
import { ActionButtons, ListHead } from '../controls/list-parts.js';
import { PagedTable } from '../controls/paged-table.js';
import type { Column } from '../controls/paged-table.js';
import { DateOf, Loaded, Money } from '../controls/parts.js';
import { Bar } from './bar.js';
import { ChangeBudget, CreateBudget, EndBudget, RaiseBudget } from './budget-actions.js';
import { afterText, periodText, whoseText } from './budget-text.js';
import type { Budget, Group, Manager, MemberRequests } from './member-requests.js';
import { mayChangeBudget } from './member-requests.js';

const LABELS = { raise: 'Raise', change: 'Change', end: 'End' } as const;
type Action = keyof typeof LABELS;
type Acting = 'create' | { readonly action: Action; readonly of: Budget };

export function BudgetList(props: {
  readonly list: Paged<Budget>;
  readonly groups: readonly Group[];
  /** Those that may pay for other budgets. */
  readonly reserves: readonly Budget[];
  readonly manager: Manager;
  readonly changed: () => void;
}) {
  const { list, groups, reserves, manager, changed } = props;
  const [acting, setActing] = useState<Acting>();
  return (
    <section class="card" aria-label="Budgets">
      <ListHead
        title="Budgets"
        mayAct={manager.mayAct}
        add="Create a budget"
        onAdd={() => {
          setActing('create');
        }}
      />
      <PagedTable
        list={list}
        what="the budgets"
        columns={columnsFor(manager)}
        comesBy="the oldest"
        empty="There are no budgets: what members spend is not bounded."
        idOf={({ id }) => id}
        rowName="data-budget"
        detailsOf="budget"
        details={(budget) => () => <UsesOf budget={budget} requests={manager.requests} />}
        actions={
          manager.mayAct ? (of) => <Buttons {...{ of, manager }} act={setActing} /> : undefined
        }
        file="budgets"
      />
      {acting !== undefined && (
        <BudgetDialog
          acting={acting}
          groups={groups}
          reserves={reserves}
          requests={manager.requests}
          onDone={changed}
          onClose={() => {
            setActing(undefined);
          }}
        />
      )}
    </section>
  );
}

function columnsFor({ isOperator }: Manager): readonly Column<Budget>[] {
  const creator = isOperator ? 'holder' : 'operator';
  return [
    {
      label: 'Budget',
      value: ({ name }) => name,
      cell: ({ created_by: by }, name) => (
        <>
          {name}
          {by === creator && (
            <span class="when">set by {isOperator ? 'the customer' : 'your operator'}</span>
          )}
        </>
      ),
    },
    { label: 'For', value: whoseText },
    { label: 'Amount', kind: 'usd', value: ({ amount_usd: usd }) => usd },
    { label: 'Period', value: periodText },
    { label: 'When used up', value: afterText },
  ];
}

function Buttons(props: {
  readonly of: Budget;
  readonly manager: Manager;
  readonly act: (acting: Acting) => void;
}) {
  const { of, manager, act } = props;
  if (!mayChangeBudget(manager, of)) return null;
  return (
    <ActionButtons
      name={of.name}
      actions={Object.keys(LABELS) as Action[]}
      labels={LABELS}
      danger="end"
      act={(action) => {
        act({ action, of });
      }}
    />
  );
}

/** The raises in force, and who used most in the current period. */
function UsesOf({
  budget: { id, name },
  requests,
}: {
  readonly budget: Budget;
  readonly requests: MemberRequests;
}) {
  const budget = useResource(`budget ${id}`, (signal) => requests.budget(id, signal));
  return (
    <Loaded of={budget} what="what was used">
      {({ raises, uses }) => {
        const names = new Map(uses.map((use) => [use.subject, use.subject_name]));
        return (
          <div class="stack">
            {raises.map((raise) => (
              <p key={raise.id}>
                <Money usd={raise.amount_usd} /> more until <DateOf iso={raise.until} />
                {raise.subject !== null && ` for ${names.get(raise.subject) ?? raise.subject}`}
              </p>
            ))}
            {uses.length === 0 && <p class="quiet">Nothing is used in this period.</p>}
            <ul class="limits" aria-label={`Used of ${name}`}>
              {uses.map(({ subject, subject_name: who, used_usd: used, amount_usd: amount }) => (
                <li key={subject}>
                  <strong>{who ?? subject ?? name}</strong>
                  <Bar name={who ?? subject ?? name} used={used} amount={amount} />
                  <p>
                    <Money usd={used} /> of <Money usd={amount} /> used
                  </p>
                </li>
              ))}
            </ul>
          </div>
        );
      }}
    </Loaded>
  );
}

function BudgetDialog(props: {
  readonly acting: Acting;
  readonly groups: readonly Group[];
  readonly reserves: readonly Budget[];
  readonly requests: MemberRequests;
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const { acting, groups, ...others } = props;
  if (acting === 'create') return <CreateBudget groups={groups} {...others} />;
  const { action, of } = acting;
  switch (action) {
    case 'raise': {
      const { id, name, amount_usd: amountUsd } = of;
      const choices = [{ id, name, amountUsd, subject: null }] as const;
      return <RaiseBudget of={whoseText(of)} choices={choices} {...others} />;
    }
    case 'change':
      return <ChangeBudget of={of} {...others} />;
    case 'end':
      return <EndBudget of={of} {...others} />;
  }
}
