/** The storage of this tab. If the browser blocks it, nothing is kept, and no error is thrown. */

export function readKept(name: string): string | undefined {
  try {
    return sessionStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param text - `undefined` removes what was kept.
 * @returns whether the tab has the text now
 */
export function keep(name: string, text: string | undefined): boolean {
  try {
    if (text === undefined) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, text);
    return text !== undefined;
  } catch {
    return false;
  }
}
