/** The dialogs that create, change, raise and end budgets. */

import { useState } from 'preact/hooks';
import { ActionDialog } from '../controls/actions.js';
import type { DialogCallbacks } from '../controls/actions.js';
import { AmountField, Choice, Money, TextField } from '../controls/parts.js';
import { isoOfLocal, minuteText } from '../text/times.js';
import { typedText } from '../text/numbers.js';
import { readTypedUsd, separatorProblem, sumUsd } from '../text/usd.js';
import { ACTIONS, PERIODS, actionText, whoseText } from './budget-text.js';
import { groupOptions } from './group-tree.js';
import type {
  Budget,
  Group,
  Manager,
  Member,
  MemberRequests,
  NewBudget,
  OwnBudget,
} from './member-requests.js';
import { mayChangeBudget } from './member-requests.js';

interface Props extends DialogCallbacks {
  readonly requests: MemberRequests;
}

/** @returns an amount of at least zero, or what is wrong with the text */
function readAmount(text: string): { readonly usd: string } | { readonly problem: string } {
  const usd = readTypedUsd(text);
  if (usd !== undefined && !usd.startsWith('-')) return { usd };
  return { problem: separatorProblem(text) ?? `Amount: such as 20 or ${typedText('7.5')}.` };
}

const problemIn = (read: ReturnType<typeof readAmount>) =>
  'problem' in read ? read.problem : undefined;
const usdIn = (read: ReturnType<typeof readAmount>) => ('usd' in read ? read.usd : '0');

const WHOSE = [
  ['each', 'each member'],
  ['of group', 'each member of a group'],
  ['group', 'a group together'],
  ['account', 'the whole account'],
  ['key', 'each key'],
  ['tag', 'a tag'],
  ['run', 'a run'],
  ['reserve', 'a reserve, which pays for other budgets'],
] as const;
type Whose = (typeof WHOSE)[number][0];

const ZONES = Intl.supportedValuesOf('timeZone');
const { timeZone: OWN_ZONE } = new Intl.DateTimeFormat().resolvedOptions();
const EXAMPLE = OWN_ZONE === 'UTC' ? 'Europe/Berlin' : OWN_ZONE;

/** @param props.of - The member whose budget it becomes; otherwise that can be chosen. */
export function CreateBudget({
  requests,
  groups,
  reserves,
  of,
  ...callbacks
}: Props & {
  readonly groups: readonly Group[];
  readonly reserves: readonly Budget[];
  readonly of?: Member | undefined;
}) {
  const whose = useWhose(of, groups);
  const [amount, setAmount] = useState('');
  const [period, setPeriod] = useState<NewBudget['period']>('month');
  const [zone, setZone] = useState('UTC');
  const [until, setUntil] = useState('');
  const use = useWhenUsedUp(undefined, reserves);
  const [name, setName] = useState('');
  const read = readAmount(amount);
  const { who } = whose;
  const chosenName = name.trim() === '' ? `${who}, ${periodOf(period)}` : name.trim();
  return (
    <ActionDialog<Budget>
      title={of === undefined ? 'Create a budget' : `A budget for "${of.name}"`}
      fields={
        <>
          {whose.fields}
          <AmountField value={amount} onValue={setAmount} />
          <Choice label="Period" value={period} options={PERIODS} onValue={setPeriod} />
          {period !== 'once' && (
            <TextField
              label="Time zone of the period"
              value={zone}
              onValue={setZone}
              offers={ZONES}
              hint={`Such as ${EXAMPLE}.`}
            />
          )}
          <TextField
            label="It ends"
            type="datetime-local"
            value={until}
            onValue={setUntil}
            hint="Empty: never."
          />
          {use.fields}
          <TextField
            label="Name"
            maxLength={200}
            placeholder={chosenName}
            value={name}
            onValue={setName}
          />
        </>
      }
      problem={whose.problem ?? problemIn(read)}
      changes={() => [
        {
          what: `Budget for ${who}`,
          before: 'no such budget',
          after: (
            <>
              <Money usd={usdIn(read)} /> {periodOf(period)}
            </>
          ),
        },
      ]}
      facts={[
        ['Name', chosenName],
        ['Time zone', period === 'once' ? null : zone],
        ['It ends', until === '' ? null : minuteText(isoOfLocal(until))],
        ['When it is used up', actionText(use)],
        ['Then pays', use.thenName],
      ]}
      confirm="Create the budget"
      run={(actionId) =>
        requests.createBudget(
          {
            ...whose.terms,
            name: chosenName,
            amount_usd: usdIn(read),
            period,
            time_zone: zone.trim(),
            action: use.action,
            ...(use.then === null ? {} : { then: use.then }),
            ...(until === '' ? {} : { until: isoOfLocal(until) }),
            ...(use.contact === null ? {} : { contact: use.contact }),
          },
          actionId,
        )
      }
      done={(created) => <p>"{created.name}" is in force. What was spent before counts.</p>}
      {...callbacks}
    />
  );
}

/** The fields that say whose spending a budget bounds. */
function useWhose(of: Member | undefined, groups: readonly Group[]) {
  const [whose, setWhose] = useState<Whose>('each');
  const [groupId, setGroupId] = useState('');
  const [typed, setTyped] = useState('');
  const label = typed.trim();
  const needsGroup = of === undefined && (whose === 'of group' || whose === 'group');
  const group = groups.find(({ id }) => id === groupId);
  return {
    who: of?.name ?? whoText(whose, group, label),
    terms: termsOf(of, whose, { groupId, label }),
    problem: needsGroup && group === undefined ? 'Group: choose one.' : undefined,
    fields: (
      <>
        {of === undefined && (
          <Choice
            label="For"
            value={whose}
            options={groups.length === 0 ? WHOSE.filter(isWithoutGroup) : WHOSE}
            onValue={setWhose}
          />
        )}
        {needsGroup && (
          <Choice
            label="Group, with all groups below it"
            value={groupId}
            options={[['', 'choose'], ...groupOptions(groups)]}
            onValue={setGroupId}
          />
        )}
        {isNamed(whose) && (
          <TextField
            label={whose === 'tag' ? 'Tag' : 'Run'}
            maxLength={200}
            value={typed}
            onValue={setTyped}
            hint="Empty: each one has this budget."
          />
        )}
      </>
    ),
  };
}

/** The fields that say what happens when a budget is used up. */
function useWhenUsedUp(of: Budget | undefined, reserves: readonly Budget[]) {
  const [then, setThen] = useState(of?.then ?? '');
  const others = new Map(
    reserves.filter(({ id }) => id !== of?.id).map(({ id, name }) => [id, name] as const),
  );
  // One of the operator, or of a later page of the list.
  if (of !== undefined && of.then !== null) others.set(of.then, of.then_name ?? of.then);
  const [action, setAction] = useState(of?.action ?? 'refuse');
  const [typed, setTyped] = useState(of?.contact ?? '');
  return {
    action,
    contact: typed.trim() === '' ? null : typed.trim(),
    then: then === '' ? null : then,
    thenName: others.get(then) ?? null,
    fields: (
      <>
        {others.size > 0 && (
          <Choice
            label="Then pays"
            value={then}
            options={[['', 'nobody'], ...others]}
            onValue={setThen}
          />
        )}
        <Choice label="When it is used up" value={action} options={ACTIONS} onValue={setAction} />
        <TextField
          label="Whom to ask for more"
          maxLength={200}
          value={typed}
          onValue={setTyped}
          hint="Whoever is refused reads this. It may be empty."
        />
      </>
    ),
  };
}

function isWithoutGroup([whose]: (typeof WHOSE)[number]): boolean {
  return whose !== 'of group' && whose !== 'group';
}

function isNamed(whose: Whose): whose is 'tag' | 'run' {
  return whose === 'tag' || whose === 'run';
}

function whoText(whose: Whose, group: Group | undefined, label: string): string {
  const name = group?.name ?? '';
  if (whose === 'of group') return `each member of ${name}`;
  if (isNamed(whose)) return label === '' ? `each ${whose}` : `${whose} ${label}`;
  return whose === 'group' ? name : (WHOSE.find(([each]) => each === whose)?.[1] ?? '');
}

function periodOf(period: NewBudget['period']): string {
  return PERIODS.find(([each]) => each === period)?.[1] ?? period;
}

function termsOf(
  of: Member | undefined,
  whose: Whose,
  { groupId, label }: { readonly groupId: string; readonly label: string },
): Pick<NewBudget, 'scope' | 'subject' | 'within_group'> {
  if (of !== undefined) return { scope: 'member', subject: of.id };
  switch (whose) {
    case 'each':
      return { scope: 'member' };
    case 'of group':
      return { scope: 'member', within_group: groupId };
    case 'group':
      return { scope: 'group', subject: groupId };
    default:
      return { scope: whose, ...(label === '' || !isNamed(whose) ? {} : { subject: label }) };
  }
}

export function ChangeBudget({
  of,
  reserves,
  requests,
  ...callbacks
}: Props & { readonly of: Budget; readonly reserves: readonly Budget[] }) {
  const [amount, setAmount] = useState(typedText(of.amount_usd));
  const { action, contact, then, thenName, fields } = useWhenUsedUp(of, reserves);
  const read = readAmount(amount);
  const changes = [
    {
      what: 'Amount',
      before: <Money usd={of.amount_usd} />,
      after: <Money usd={usdIn(read)} />,
      isChanged: usdIn(read) !== of.amount_usd,
    },
    {
      what: 'When it is used up',
      before: actionText(of),
      after: actionText({ action }),
      isChanged: action !== of.action,
    },
    {
      what: 'Whom to ask for more',
      before: of.contact ?? 'nobody',
      after: contact ?? 'nobody',
      isChanged: contact !== of.contact,
    },
    {
      what: 'Then pays',
      before: of.then_name ?? of.then ?? 'nobody',
      after: thenName ?? 'nobody',
      isChanged: then !== of.then,
    },
  ].filter(({ isChanged }) => isChanged);
  return (
    <ActionDialog<Budget>
      title={`Change "${of.name}"`}
      fields={
        <>
          <p class="quiet">For {whoseText(of)}.</p>
          <AmountField value={amount} onValue={setAmount} />
          {fields}
        </>
      }
      problem={problemIn(read) ?? (changes.length === 0 ? 'Nothing is changed yet.' : undefined)}
      changes={() => changes}
      confirm="Change the budget"
      run={() =>
        requests.updateBudget(of.id, {
          amount_usd: usdIn(read),
          action,
          contact,
          // A holder may keep a reserve of the operator, but not name it.
          ...(then === of.then ? {} : { then }),
        })
      }
      done={(changed) => <p>"{changed.name}" is changed.</p>}
      {...callbacks}
    />
  );
}

/** What is raised: a budget, or the budget of one member. */
export interface Raised {
  readonly id: string;
  readonly name: string;
  readonly amountUsd: string;
  /** Of a budget that each one has: for whom alone. */
  readonly subject: string | null;
}

/** The budgets of a member that the person may raise, each for the member alone. */
export function raisable(
  manager: Manager,
  budgets: readonly OwnBudget[] | undefined,
): readonly Raised[] {
  return (budgets ?? [])
    .filter((budget) => mayChangeBudget(manager, budget))
    .map(({ budget_id: id, name, amount_usd: amountUsd, subject }) => ({
      id,
      name,
      amountUsd,
      subject,
    }));
}

/** @param props.of - For whom, in words. */
export function RaiseBudget({
  of,
  choices,
  requests,
  ...callbacks
}: Props & { readonly of: string; readonly choices: readonly [Raised, ...Raised[]] }) {
  const [id, setId] = useState(choices[0].id);
  const [amount, setAmount] = useState('');
  const [until, setUntil] = useState('');
  const budget = choices.find((each) => each.id === id) ?? choices[0];
  const read = readAmount(amount);
  const isNothing = usdIn(read) === '0';
  const endsAt = isoOfLocal(until);
  return (
    <ActionDialog
      title={`More for ${of}`}
      fields={
        <>
          {choices.length > 1 && (
            <Choice
              label="Budget"
              value={id}
              options={choices.map((each) => [each.id, each.name])}
              onValue={setId}
            />
          )}
          <AmountField label="More" value={amount} onValue={setAmount} />
          <TextField
            label="Until"
            type="datetime-local"
            required
            value={until}
            onValue={setUntil}
          />
        </>
      }
      problem={
        problemIn(read) ??
        (isNothing ? 'More: above 0.' : until === '' ? 'Until: when it ends.' : undefined)
      }
      changes={() => [
        {
          what: budget.name,
          before: <Money usd={budget.amountUsd} />,
          after: (
            <>
              <Money usd={sumUsd([budget.amountUsd, usdIn(read)])} /> until {minuteText(endsAt)}
            </>
          ),
        },
      ]}
      confirm="Raise the budget"
      run={(actionId) =>
        requests.raiseBudget(
          budget.id,
          {
            amount_usd: usdIn(read),
            until: endsAt,
            ...(budget.subject === null ? {} : { subject: budget.subject }),
          },
          actionId,
        )
      }
      done={(raise) => (
        <p>
          <Money usd={raise.amount_usd} /> more until {minuteText(raise.until)}.
        </p>
      )}
      {...callbacks}
    />
  );
}

export function EndBudget({ of, requests, ...callbacks }: Props & { readonly of: Budget }) {
  return (
    <ActionDialog<Budget>
      title={`End "${of.name}"`}
      changes={() => [
        { what: `Budget for ${whoseText(of)}`, before: 'in force', after: 'ended for good' },
      ]}
      confirm="End the budget"
      isDangerous
      run={() => requests.endBudget(of.id)}
      done={(ended) => <p>"{ended.name}" refuses nothing more.</p>}
      {...callbacks}
    />
  );
}
