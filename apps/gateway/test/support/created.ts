/** What a creation of a store made. @throws {Error} if it made nothing */
export function created<Created>(made: {
  readonly outcome: string;
  readonly record?: Created;
}): Created {
  if (made.record === undefined) throw new Error(made.outcome);
  return made.record;
}
