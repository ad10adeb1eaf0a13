/** Filters of a list. They are kept in the address, so that a view can be shared. */

import { useEffect, useState } from 'preact/hooks';
import { Choice, TextField, optionOf } from './parts.js';
import { changeQuery, route } from '../api/router.js';

export interface Field<Name extends string> {
  /** The name of the filter in the address. */
  readonly name: Name;
  readonly label: string;
  readonly type?: 'date';
  /** Values that are offered; others may be typed. */
  readonly offers?: readonly string[];
  /** How a value of the address is written in the field, and how what is typed is read. */
  readonly words?: {
    readonly of: (value: string) => string;
    readonly read: (text: string) => string;
  };
}

type Option = readonly [value: string, label: string];

/**
 * The fields take effect when the form is submitted. Otherwise each letter and each digit of a date
 * would cause a request.
 *
 * @param props.kinds - The options of the filter `kind`, which takes effect at once.
 */
export function FilterForm<Name extends string>(props: {
  readonly fields: readonly Field<Name>[];
  readonly button: string;
  readonly kinds?: readonly [Option, ...Option[]];
}) {
  const { fields, button, kinds } = props;
  const { query } = route.value;
  const given = textsOf(fields, ({ name, words }) => {
    const value = query[name] ?? '';
    return words?.of(value) ?? value;
  });
  const [texts, setTexts] = useState(given);
  // The address also changes when the person goes back or follows a link.
  useEffect(() => {
    setTexts(given);
  }, [JSON.stringify(given)]);
  const apply = (more?: { readonly kind: string }) => {
    const typed = textsOf(fields, ({ name, words }) => {
      const text = texts[name].trim();
      return words?.read(text) ?? text;
    });
    changeQuery({ ...typed, ...more });
  };
  return (
    <form
      class="row no-print"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      {kinds !== undefined && (
        <Choice
          label="Show"
          value={optionOf(kinds, query['kind'])}
          options={kinds}
          onValue={(kind) => {
            apply({ kind });
          }}
        />
      )}
      {fields.map(({ name, label, type, offers }) => (
        <TextField
          key={name}
          label={label}
          type={type ?? 'text'}
          offers={offers}
          value={texts[name]}
          onValue={(value) => {
            setTexts({ ...texts, [name]: value });
          }}
        />
      ))}
      <button type="submit">{button}</button>
    </form>
  );
}

function textsOf<Name extends string>(
  fields: readonly Field<Name>[],
  textOf: (field: Field<Name>) => string,
): Readonly<Record<Name, string>> {
  return Object.fromEntries(fields.map((field) => [field.name, textOf(field)])) as Record<
    Name,
    string
  >;
}

/**
 * What an empty list says: which filters may have left out what the person looks for.
 *
 * @param filters - what each filter chooses by, such as "the model"; one without a value is not in
 * force
 * @param otherwise - the text of a list that is empty without a filter
 */
export function emptyText(
  filters: Readonly<Record<string, string | undefined>>,
  otherwise: string,
): string {
  const given = Object.entries(filters).flatMap(([what, value = '']) =>
    value === '' ? [] : [`${what} “${value}”`.trimStart()],
  );
  return given.length === 0 ? otherwise : `Nothing here fits ${given.join(' and ')}.`;
}

/** The name of the chosen kind, for {@link emptyText}; empty if all kinds are shown. */
export function kindText(kinds: readonly Option[], kind: string): string {
  return kind === 'all' ? '' : (kinds.find(([value]) => value === kind)?.[1] ?? kind);
}
