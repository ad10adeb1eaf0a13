/**
 * Loads what is on the screen again while somebody looks at it, and says how old it is. A quiet
 * loading changes nothing but the figures: open rows, forms and the focus stay.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Failure } from './api.js';
import { countText } from '../text/count-text.js';

/** Something on the screen that can be loaded again. Times are in milliseconds since the epoch. */
interface Live {
  /** When it was loaded last; `undefined` before the first time. */
  loadedAt: number | undefined;
  /** When it was asked for last, whatever came back. */
  triedAt: number;
  isLoading: boolean;
  failure: Failure | undefined;
  /** Loads it again quietly, if that does not disturb. */
  refresh: () => void;
  /** Loads it again because the person asks for it. */
  reload: () => void;
}

const live = new Set<Live>();

const REFRESH_MS = 15_000;
/** Someone who comes back to the page gets new figures at once, unless they are this young. */
const YOUNG_MS = 5_000;
/** The steps in which the age is shown, so that the text does not change each second. */
const AGE_STEP_S = 5;

/** @returns what the caller keeps up to date; it is on the screen while the component is. */
export function useLive(isLive: boolean): Live {
  const kept = useRef<Live | undefined>(undefined);
  kept.current ??= {
    loadedAt: undefined,
    triedAt: 0,
    isLoading: true,
    failure: undefined,
    refresh: () => undefined,
    reload: () => undefined,
  };
  const one = kept.current;
  useEffect(() => {
    if (!isLive) return undefined;
    live.add(one);
    return () => {
      live.delete(one);
    };
  }, [isLive]);
  return one;
}

function refreshOlderThan(ageMs: number): void {
  const now = Date.now();
  for (const one of live) {
    // After these failures, a note about them counts down and then loads again. Only what no note
    // shows is still as it was a period later.
    const { failure } = one;
    const waitMs =
      failure !== undefined && 'retryAfterSeconds' in failure
        ? failure.retryAfterSeconds * 1_000
        : 0;
    if (!one.isLoading && now - one.triedAt >= ageMs + waitMs) one.refresh();
  }
}

/**
 * The age of the oldest figures, and a button that loads all of them. While this is on the screen,
 * figures are loaded again every 15 seconds and when the window gets the focus.
 *
 * @param props.idleMs - Figures are not loaded again by themselves after this time without a key or
 * a pointer. Otherwise a session that ends when it is idle would never end.
 */
export function Freshness({ idleMs = Infinity }: { readonly idleMs?: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    let usedAt = Date.now();
    const timer = setInterval(() => {
      setNow(Date.now());
      if (!document.hidden && Date.now() - usedAt < idleMs) refreshOlderThan(REFRESH_MS);
    }, 1_000);
    const comeBack = () => {
      if (!document.hidden) refreshOlderThan(YOUNG_MS);
    };
    const use = () => {
      usedAt = Date.now();
    };
    addEventListener('focus', comeBack);
    addEventListener('visibilitychange', comeBack);
    addEventListener('pointerdown', use);
    addEventListener('keydown', use);
    return () => {
      clearInterval(timer);
      removeEventListener('focus', comeBack);
      removeEventListener('visibilitychange', comeBack);
      removeEventListener('pointerdown', use);
      removeEventListener('keydown', use);
    };
  }, [idleMs]);
  const times = [...live].flatMap(({ loadedAt }) => loadedAt ?? []);
  return (
    <span class="freshness">
      <span class="quiet">
        {times.length > 0 && `Updated ${ageText(now - Math.min(...times))}`}
      </span>
      <button
        type="button"
        class="small"
        onClick={() => {
          for (const { reload } of live) reload();
        }}
      >
        Refresh
      </button>
    </span>
  );
}

function ageText(ageMs: number): string {
  const seconds = Math.floor(ageMs / 1_000 / AGE_STEP_S) * AGE_STEP_S;
  if (seconds <= 0) return 'just now';
  return seconds < 60
    ? `${String(seconds)} s ago`
    : `${countText(Math.floor(seconds / 60), 'minute')} ago`;
}
