/** A search field that searches when it is submitted, and keeps its text in the address. */

import { FilterForm } from '../shared/filter-form.js';

export function SearchField({ name, label }: { readonly name: string; readonly label: string }) {
  return <FilterForm fields={[{ name, label }]} button="Search" />;
}
