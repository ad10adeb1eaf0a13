/** The forms of a result besides JSON. */

/** A form of a result that is not JSON. */
export interface TextFormat<Output> {
  readonly mediaType: 'text/csv' | 'text/html';
  readonly write: (output: Output) => string;
  readonly headers?: Readonly<Record<string, string>>;
}
