import { canAskFor } from '../abilities.ts';

/** The first supported example of each row is shown. */
const EXAMPLES: readonly Readonly<Record<string, string>>[] = [
  { name_prefix: 'name:mail.*', name: 'name:mail.send' },
  { not_state: '-state:SUCCESS', state: 'state:FAILURE' },
  { runtime_gt: 'runtime>5s' },
  { q: '"a phrase"' },
];
const examples = EXAMPLES.flatMap(
  (row) => Object.entries(row).find(([parameter]) => canAskFor(parameter))?.[1] ?? [],
);

/** Attributes of the search field, the same before and after its completions have been loaded. */
export const FIELD = {
  type: 'search',
  'aria-label': 'Search',
  autocomplete: 'off',
  spellcheck: false,
  maxLength: 2_000,
  placeholder: examples.length > 0 ? `Search tasks: ${examples.join(' ')}` : 'Id of a task',
} as const;

/** The field before the box is loaded, and whether Enter was pressed in it. */
export interface PlainField {
  field: HTMLInputElement | null;
  isAsked: boolean;
  /** What was typed in it when it was last taken away. */
  typed: ReturnType<typeof typedIn> | null;
}

export function typedIn(field: HTMLInputElement) {
  const { value, selectionStart, selectionEnd } = field;
  const end = selectionEnd ?? value.length;
  return { value, start: selectionStart ?? end, end, hasFocus: field === document.activeElement };
}
