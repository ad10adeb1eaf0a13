/** Data that a part of the screen loads from the gateway, or the reason why it has none. */

import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Answer, Failure } from './api.js';
import { useLive } from './freshness.js';

export interface Resource<Value> {
  /** The last value that was loaded. It stays while the next one loads, and if that fails. */
  readonly value: Value | undefined;
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

interface State<Value> {
  readonly value: Value | undefined;
  readonly failure: Failure | undefined;
  readonly isLoading: boolean;
  /** The answer as it was sent. */
  readonly text: string;
  /** The name of the data that the state belongs to. */
  readonly of: string;
}

/**
 * Loads when the component mounts, when `of` changes, on `reload`, and quietly while it is on the
 * screen. An answer that arrives after a change is dropped.
 *
 * @param load - Resolves to `undefined` if there is nothing to load.
 * @param of - Names the data, such as a path with its query. When it changes, the old value is not
 * shown any more.
 * @param options.isLive - Whether it is loaded again by itself while it is on the screen.
 */
export function useResource<Value>(
  of: string,
  load: (signal: AbortSignal) => Promise<Answer<Value> | undefined>,
  { isLive = true }: { readonly isLive?: boolean } = {},
): Resource<Value> {
  const [state, setState] = useState<State<Value>>({ ...NOTHING, of });
  const [turn, setTurn] = useState({ count: 0, isQuiet: false });
  const live = useLive(isLive);
  useEffect(() => {
    const aborted = new AbortController();
    live.triedAt = Date.now();
    setState((before) => {
      if (before.of !== of) return { ...NOTHING, of };
      return turn.isQuiet && before.value !== undefined ? before : { ...before, isLoading: true };
    });
    void load(aborted.signal).then((answer) => {
      if (aborted.signal.aborted || answer === undefined) return;
      if (answer.ok) live.loadedAt = Date.now();
      setState((before) => {
        if (!answer.ok) {
          return { ...before, failure: answer.failure, isLoading: false, of };
        }
        // The same text: what is on the screen is not drawn again.
        const { text } = answer;
        const isSame = text !== '' && before.text === text && before.value !== undefined;
        if (isSame && !before.isLoading && before.failure === undefined) return before;
        const value = isSame ? before.value : answer.value;
        return { value, text, failure: undefined, isLoading: false, of };
      });
    });
    return () => {
      aborted.abort();
    };
    // `load` is a new function at each rendering; `of` names what it loads.
  }, [of, turn]);
  const reload = useCallback(() => {
    setTurn(({ count }) => ({ count: count + 1, isQuiet: false }));
  }, []);
  const shown = state.of === of ? state : { ...NOTHING, of };
  Object.assign(live, {
    isLoading: shown.isLoading,
    failure: shown.failure,
    reload,
    refresh: () => {
      setTurn(({ count }) => ({ count: count + 1, isQuiet: true }));
    },
  });
  return { value: shown.value, failure: shown.failure, isLoading: shown.isLoading, reload };
}

const NOTHING = { value: undefined, text: '', failure: undefined, isLoading: true } as const;
