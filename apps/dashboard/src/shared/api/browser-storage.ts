/** Texts that the browser keeps. If it blocks storage, nothing is kept, and no error is thrown. */

/** `sessionStorage` belongs to the tab, `localStorage` to the browser. */
type Place = 'sessionStorage' | 'localStorage';

export function readKept(place: Place, name: string): string | undefined {
  try {
    return window[place].getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param text - `undefined` removes what was kept.
 * @returns whether the text is kept now
 */
export function keep(place: Place, name: string, text: string | undefined): boolean {
  try {
    if (text === undefined) window[place].removeItem(name);
    else window[place].setItem(name, text);
    return text !== undefined;
  } catch {
    return false;
  }
}
