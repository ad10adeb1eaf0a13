/** A person's choices, kept by the browser. If it blocks storage, the page forgets them. */

export function readSetting(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** @param text - `undefined` removes what was kept. */
export function keepSetting(name: string, text: string | undefined): void {
  try {
    if (text === undefined) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    // The page works as well without.
  }
}
