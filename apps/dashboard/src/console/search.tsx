/** A search field that searches when it is submitted, and keeps its text in the address. */

import { useState } from 'preact/hooks';
import { TextField } from '../shared/parts.js';
import { changeQuery, route } from '../shared/router.js';

export function SearchField({ name, label }: { readonly name: string; readonly label: string }) {
  const [text, setText] = useState(route.value.query[name] ?? '');
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        changeQuery({ [name]: text.trim() });
      }}
    >
      <TextField label={label} value={text} onValue={setText} />
      <button type="submit">Search</button>
    </form>
  );
}
