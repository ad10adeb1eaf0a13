/** What becomes of one member of a request. */
export type RequestField =
  | { readonly fate: 'mapped'; readonly to: string }
  | {
      readonly fate: 'ignored';
      readonly why: string;
      /**
       * The values, as JSON, that ask for nothing beyond what happens anyway, so that ignoring them
       * loses nothing.
       */
      readonly neutral: readonly string[];
    };
