/** Whom to ask: a person or the operator. */

/** An address of mail, one of the web, or another text. */
export function Contact({ of }: { readonly of: string }) {
  if (/^https?:\/\//.test(of)) {
    return (
      <a href={of} target="_blank" rel="noreferrer">
        {of}
      </a>
    );
  }
  return /^\S+@\S+$/.test(of) ? <a href={`mailto:${of}`}>{of}</a> : <>{of}</>;
}
