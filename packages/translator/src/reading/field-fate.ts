/** Describes for people how one member of a request is translated. */
export type RequestField =
  | { readonly fate: 'mapped'; readonly to: string }
  | {
      readonly fate: 'ignored';
      readonly why: string;
      /** The values, as JSON, that ask for what happens anyway. Ignoring them loses nothing. */
      readonly neutral: readonly string[];
    };
