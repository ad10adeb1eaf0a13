/**
 * Throws if the caller left out an option. The compiler reports this only to callers in TypeScript.
 *
 * @param options - The options that the caller must give, by name.
 * @throws {TypeError} unless all are given. The message names the first missing one.
 */
export function requireOptions(options: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(options)) {
    if (!value) throw new TypeError(`the option ${name} is missing`);
  }
}
