/**
 * One search for everything on the page: Ctrl-K, Command-K or `/` opens it, and Enter leads to the
 * chosen place. What is typed is in no address and no history.
 */

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Answer, Failure } from '../api/api.js';
import { Modal } from './modal.js';
import { FailureNote } from './parts.js';
import { to } from '../api/router.js';

export interface Found {
  /** Such as `Account`. */
  readonly kind: string;
  readonly name: string;
  /** What tells it from others of the same name. */
  readonly about?: string | undefined;
  /** An address on this page. */
  readonly href: string;
}

export type SearchAnswer = readonly Found[] | Failure;

interface SearchProps {
  /** What can be found, for the person. */
  readonly what: string;
  /** Parts of the page, found by their label. */
  readonly tabs: readonly { readonly path: string; readonly label: string }[];
  readonly find: (text: string, signal: AbortSignal) => Promise<SearchAnswer>;
}

export function Search(props: SearchProps) {
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      const isAsked = isShortcut(event) && document.querySelector('dialog[open]') === null;
      if (!isAsked) return;
      event.preventDefault();
      setIsOpen(true);
    };
    addEventListener('keydown', open);
    return () => {
      removeEventListener('keydown', open);
    };
  }, []);
  return (
    <>
      <button
        type="button"
        class="small"
        aria-keyshortcuts="Control+K Meta+K /"
        onClick={() => {
          setIsOpen(true);
        }}
      >
        Search <kbd class="wide-only">{/Mac|iP/.test(navigator.platform) ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      {isOpen && (
        <SearchDialog
          {...props}
          onClose={() => {
            setIsOpen(false);
          }}
        />
      )}
    </>
  );
}

function isShortcut({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean {
  if (altKey) return false;
  if (ctrlKey || metaKey) return key.toLowerCase() === 'k';
  const isTyping = target instanceof HTMLElement && target.closest('input, select, textarea');
  return key === '/' && !isTyping;
}

/** A credential or the token of a link, also of other providers: no search sends it like a name. */
const SECRET = /^(gw_|gl_|sk-)[\w-]{20,}$/;

export function isSecret(text: string): boolean {
  return SECRET.test(text);
}

/** Requests wait until the person has stopped typing for so long. */
const PAUSE_MS = 200;

function SearchDialog(props: SearchProps & { readonly onClose: () => void }) {
  const { what, tabs, find, onClose } = props;
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const { answer, isSearching } = useAnswer(text.trim(), find);
  const id = useId();
  const places: readonly Found[] = tabs
    .filter(({ label }) => label.toLowerCase().includes(text.trim().toLowerCase()))
    .map(({ path, label }) => ({ kind: 'Part', name: label, href: to([path]) }));
  const failure = answer !== undefined && isFailure(answer) ? answer : undefined;
  const found = answer === undefined || isFailure(answer) ? [] : answer;
  const results = [...found, ...places];
  const active = results[Math.min(chosen, results.length - 1)];
  // Whoever types fast presses Enter before the answer is there.
  const [goesOn, setGoesOn] = useState(false);
  useEffect(() => {
    if (!goesOn || isSearching) return;
    setGoesOn(false);
    if (active !== undefined) go(active);
  }, [goesOn, isSearching]);

  function go({ href }: Found) {
    onClose();
    location.hash = href;
  }

  function press(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && results.length > 0) {
      event.preventDefault();
      setChosen((Math.min(chosen, results.length - 1) + step + results.length) % results.length);
    }
  }

  const isEmpty = results.length === 0 && !isSearching;
  return (
    <Modal labelledBy={`${id}-title`} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          setGoesOn(true);
        }}
      >
        <h2 id={`${id}-title`} class="hidden">
          Search
        </h2>
        <input
          type="text"
          class={isSecret(text.trim()) ? 'wide secret' : 'wide'}
          role="combobox"
          aria-label={`Search ${what}`}
          aria-expanded={results.length > 0}
          aria-controls={`${id}-results`}
          aria-activedescendant={active && `${id}-${String(results.indexOf(active))}`}
          placeholder={`Search ${what}`}
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={press}
        />
        <Results
          id={id}
          results={results}
          active={active}
          chosen={chosen}
          choose={setChosen}
          go={go}
        />
        <p class="quiet" role="status">
          {isSearching ? 'Searching…' : isEmpty ? 'Nothing found.' : ''}
        </p>
        {failure !== undefined && <FailureNote failure={failure} what="the search" />}
      </form>
    </Modal>
  );
}

function Results(props: {
  /** Of the dialog. */
  readonly id: string;
  readonly results: readonly Found[];
  readonly active: Found | undefined;
  readonly chosen: number;
  readonly choose: (index: number) => void;
  readonly go: (result: Found) => void;
}) {
  const { id, results, active, chosen, choose, go } = props;
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  return (
    <ul ref={list} id={`${id}-results`} class="found" role="listbox" aria-label="Results">
      {results.map((result, index) => (
        <li
          key={`${result.kind} ${result.href} ${result.name}`}
          id={`${id}-${String(index)}`}
          role="option"
          aria-selected={result === active}
          onClick={() => {
            go(result);
          }}
          onPointerMove={() => {
            choose(index);
          }}
        >
          <span class="quiet">{result.kind}</span>
          <span>
            {result.name} {result.about !== undefined && <span class="quiet">{result.about}</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The last answer, and whether one for this text is still awaited. */
function useAnswer(text: string, find: SearchProps['find']) {
  const [kept, setKept] = useState<{ readonly of: string; readonly answer: SearchAnswer }>();
  useEffect(() => {
    if (text === '') return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      void find(text, controller.signal).then((answer) => {
        if (!controller.signal.aborted) setKept({ of: text, answer });
      });
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text]);
  const isSearching = text !== '' && kept?.of !== text;
  return { answer: text === '' ? undefined : kept?.answer, isSearching };
}

/** What one request finds. */
export async function reading<Value>(
  answer: Promise<Answer<Value>>,
  found: (value: Value) => readonly Found[],
): Promise<SearchAnswer> {
  const arrived = await answer;
  return arrived.ok ? found(arrived.value) : arrived.failure;
}

/** The findings of several requests. A refusal only means that there is nothing of its kind. */
export async function together(readings: readonly Promise<SearchAnswer>[]): Promise<SearchAnswer> {
  const answers = await Promise.all(readings);
  const found = new Map(
    answers
      .flatMap((answer) => (isFailure(answer) ? [] : answer))
      .map((each) => [`${each.kind} ${each.href} ${each.name}`, each]),
  );
  const grave = answers.find((answer) => isFailure(answer) && answer.kind !== 'refused');
  return grave !== undefined && found.size === 0 ? grave : [...found.values()];
}

function isFailure(answer: SearchAnswer): answer is Failure {
  return 'kind' in answer;
}
