/** Every setting of the gateway: what is in force, where it is set, and how it can be changed. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ActionDialog } from '../shared/controls/actions.js';
import type { DialogCallbacks } from '../shared/controls/actions.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { PagedTable } from '../shared/controls/paged-table.js';
import type { Column } from '../shared/controls/paged-table.js';
import { loadedList } from '../shared/api/pages.js';
import { Badge, CodeBlock, Facts, Loaded, TextField, Time } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import type { Resource } from '../shared/api/resource.js';
import { call, may } from './session.js';

type InForce = Sent<'settings'>;
type Setting = InForce['variables'][number];

/** A price table has thousands of characters. */
const MAX_SHOWN = 60;

const COLUMNS: readonly Column<Setting>[] = [
  {
    label: 'Setting',
    value: ({ name }) => name,
    cell: ({ about }, name) => (
      <>
        <strong class="mono">{name}</strong>
        <span class="when about">{firstSentence(about)}</span>
      </>
    ),
  },
  {
    label: 'Value',
    value: (setting) => (setting.is_secret ? secretText(setting) : setting.value),
    cell: (setting, shown) =>
      setting.is_secret ? (
        <Badge tone={setting.is_set ? 'good' : 'plain'}>{shown}</Badge>
      ) : (
        <Value text={setting.value} />
      ),
  },
  { label: 'Set', value: ({ set_in }) => PLACES[set_in] },
];

const PLACES: Readonly<Record<Setting['set_in'], string>> = {
  gateway: 'here',
  environment: 'in the environment',
  file: 'in the file',
  default: 'nowhere: the default',
};

export function Settings() {
  const settings = useResource('settings', (signal) => call('GET /admin/settings', { signal }));
  const [text, setText] = useState('');
  return (
    <div class="stack">
      <InForceCard of={settings}>
        <TextField label="Find a setting" value={text} onValue={setText} />
      </InForceCard>
      <List
        of={settings}
        text={text}
        title="What can be changed here"
        about="Changes apply to new requests in all replicas within seconds. The trail has each."
        isShown={({ changes_by }) => changes_by === 'gateway'}
      />
      <List
        of={settings}
        text={text}
        title="What is set on the machine"
        about={
          <>
            Set these in the environment of the gateway, or in the file that <code>ENV_FILE</code>{' '}
            names. Open a row to see whether a restart is needed.
          </>
        }
        isShown={({ changes_by }) => changes_by !== 'gateway'}
      />
    </div>
  );
}

function InForceCard(props: {
  readonly of: Resource<InForce>;
  readonly children: ComponentChildren;
}) {
  const { of, children } = props;
  const [isReloading, setIsReloading] = useState(false);
  return (
    <section class="card" aria-label="Settings in force">
      <div class="row spread">
        <h2>Settings in force</h2>
        {may('change') && (
          <button
            type="button"
            onClick={() => {
              setIsReloading(true);
            }}
          >
            Read the files again
          </button>
        )}
      </div>
      <Loaded of={of} what="the settings">
        {({ version, loaded_at, workers, needs_restart: waiting }) => (
          <div class="stack">
            <p>
              Version <span class="id">{version}</span>, in force since <Time iso={loaded_at} />.
              Replicas with equal settings have the same version.
            </p>
            {workers.some((worker) => worker.version !== version) && (
              <p class="note warning" role="status">
                Not all workers of this gateway have this version yet.
              </p>
            )}
            {waiting.length > 0 && (
              <p class="note warning" role="status">
                Changed on the machine, and in force after a restart: {waiting.join(', ')}.
              </p>
            )}
          </div>
        )}
      </Loaded>
      {children}
      {isReloading && (
        <ActionDialog
          title="Read the files again"
          changes={() => []}
          warning="The environment's file, the price tables, the upstream accounts and their keys are read and checked. If one cannot be used, nothing changes."
          confirm="Read them"
          run={() => call('POST /admin/reload', {})}
          done={({ version }) => (
            <p>
              Version <span class="id">{version}</span> is in force.
            </p>
          )}
          onDone={of.reload}
          onClose={() => {
            setIsReloading(false);
          }}
        />
      )}
    </section>
  );
}

function List(props: {
  readonly of: Resource<InForce>;
  /** What the settings that are shown have in their name or meaning. */
  readonly text: string;
  readonly title: string;
  readonly about: ComponentChildren;
  readonly isShown: (setting: Setting) => boolean;
}) {
  const { of, text, title, about, isShown } = props;
  const [changed, setChanged] = useState<Setting>();
  const words = text.trim().toLowerCase();
  const list = loadedList(
    (of.value?.variables ?? []).filter(
      (setting) =>
        isShown(setting) && `${setting.name} ${setting.about}`.toLowerCase().includes(words),
    ),
  );
  if (of.value === undefined) return null;
  const canChange = may('change') && list.items?.some(({ changes_by: by }) => by === 'gateway');
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <p class="quiet">{about}</p>
      <PagedTable
        list={list}
        what={`the settings: ${title.toLowerCase()}`}
        columns={COLUMNS}
        empty={words === '' ? 'There are none.' : `No setting has "${text.trim()}".`}
        comesBy="their subject"
        idOf={({ name }) => name}
        rowName="data-setting"
        detailsOf="setting"
        details={(setting) => () => <Details of={setting} />}
        actions={
          canChange === true
            ? (setting) => (
                <button
                  type="button"
                  class="small"
                  onClick={() => {
                    setChanged(setting);
                  }}
                >
                  Change
                </button>
              )
            : undefined
        }
        file="settings"
      />
      {changed !== undefined && (
        <ChangeSetting
          of={changed}
          onDone={of.reload}
          onClose={() => {
            setChanged(undefined);
          }}
        />
      )}
    </section>
  );
}

function Details({ of }: { readonly of: Setting }) {
  return (
    <div class="stack">
      <p>{of.about}</p>
      <Facts
        facts={[
          ['Default', of.default === '' ? null : of.default],
          ['Set', PLACES[of.set_in]],
          ['To change it', WAYS[of.changes_by]],
        ]}
      />
      {of.value !== null && of.value.length > MAX_SHOWN && (
        <CodeBlock text={indented(of.value)} what={`the value of ${of.name}`} />
      )}
    </div>
  );
}

const WAYS: Readonly<Record<Setting['changes_by'], string>> = {
  gateway: 'here, or on the machine and "Read the files again"',
  reload: 'on the machine, then "Read the files again"',
  restart: 'on the machine, then restart the gateway',
};

function ChangeSetting({ of, ...callbacks }: DialogCallbacks & { readonly of: Setting }) {
  const { name, set_in: setIn } = of;
  const before = of.value ?? '';
  const [text, setText] = useState(indented(before));
  const [isTakenBack, setIsTakenBack] = useState(false);
  const after = text.trim();
  const value = isTakenBack ? null : after;
  return (
    <ActionDialog
      title={`Change ${name}`}
      fields={
        <>
          <p>{of.about}</p>
          {setIn === 'gateway' && (
            <label class="switch">
              <input
                type="checkbox"
                checked={isTakenBack}
                onChange={(event) => {
                  setIsTakenBack(event.currentTarget.checked);
                }}
              />{' '}
              As it is set on the machine
            </label>
          )}
          {!isTakenBack && of.is_json && (
            <label class="field">
              Value: JSON, or a word that is named above
              <textarea
                class="mono"
                spellcheck={false}
                value={text}
                onInput={(event) => {
                  setText(event.currentTarget.value);
                }}
              />
            </label>
          )}
          {!isTakenBack && !of.is_json && (
            <TextField label="Value" required value={text} onValue={setText} />
          )}
        </>
      }
      problem={
        after === '' && !isTakenBack
          ? 'Value: is missing.'
          : value === indented(before)
            ? 'Value: is the same as before.'
            : undefined
      }
      changes={() => [
        {
          what: name,
          before: <Value text={of.value} />,
          after: isTakenBack ? 'as on the machine' : <Value text={after} />,
        },
      ]}
      warning="It applies to new requests. Those that run keep what they began with."
      confirm="Change it"
      run={() =>
        call('PATCH /admin/settings/:name', {
          path: { name },
          body: { value },
        })
      }
      done={({ version }) => (
        <p>
          Version <span class="id">{version}</span> is in force.
        </p>
      )}
      {...callbacks}
    />
  );
}

function Value({ text }: { readonly text: string | null }) {
  if (text === null || text === '') return <span class="quiet">–</span>;
  const short = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text;
  return <span class="mono wraps">{short}</span>;
}

function secretText({ is_set: isSet }: Setting): string {
  return isSet ? 'set' : 'not set';
}

function firstSentence(text: string): string {
  const [first = ''] = text.split(/(?<=\.) /);
  return first;
}

/** JSON on several lines; another text as it is. */
function indented(text: string): string {
  if (!text.startsWith('{')) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
