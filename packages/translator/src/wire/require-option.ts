/**
 * Throws if the caller left out an option, or gave one that has no meaning. The compiler reports
 * this only to callers in TypeScript.
 *
 * @param value - False or undefined if the option is not right.
 * @param expected - What it must be.
 * @throws {TypeError} The message names the option.
 */
export function requireOption(name: string, value: unknown, expected: string): void {
  if (value === undefined || value === null || value === false || value === '') {
    throw new TypeError(`the option ${name} must be ${expected}`);
  }
}

/** Checks the context of an answer. */
export function requireContext(context: { readonly created: number } | undefined): void {
  requireOption('context', context, 'the `response` of the translated request');
  requireOption('created', typeof context?.created === 'number', 'the time in seconds');
}
