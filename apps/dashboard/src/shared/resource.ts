/** Data that a part of the screen loads from the gateway, or the reason why it has none. */

import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Answer, Failure } from './api.js';

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
  /** The name of the data that the state belongs to. */
  readonly of: string;
}

/**
 * Loads when the component mounts, when `of` changes, and on `reload`. An answer that arrives after
 * a change is dropped.
 *
 * @param load - Resolves to `undefined` if there is nothing to load.
 * @param of - Names the data, such as a path with its query. When it changes, the old value is not
 * shown any more.
 */
export function useResource<Value>(
  of: string,
  load: (signal: AbortSignal) => Promise<Answer<Value> | undefined>,
): Resource<Value> {
  const [state, setState] = useState<State<Value>>({ ...NOTHING, of });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const aborted = new AbortController();
    setState((before) => (before.of === of ? { ...before, isLoading: true } : { ...NOTHING, of }));
    void load(aborted.signal).then((answer) => {
      if (aborted.signal.aborted || answer === undefined) return;
      setState(({ value }) =>
        answer.ok
          ? { value: answer.value, failure: undefined, isLoading: false, of }
          : { value, failure: answer.failure, isLoading: false, of },
      );
    });
    return () => {
      aborted.abort();
    };
    // `load` is a new function at each rendering; `of` names what it loads.
  }, [of, turn]);
  const reload = useCallback(() => {
    setTurn((before) => before + 1);
  }, []);
  return { ...(state.of === of ? state : { ...NOTHING, of }), reload };
}

const NOTHING = { value: undefined, failure: undefined, isLoading: true } as const;
