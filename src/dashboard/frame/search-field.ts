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
  placeholder: examples.length > 0 ? `Search tasks: ${examples.join(' ')}  ( / )` : 'Id of a task  ( / )',
} as const;

/** What was typed before the search was loaded. */
export interface Typed {
  readonly value: string;
  readonly start: number;
  readonly end: number;
  readonly hasFocus: boolean;
  /** Whether Enter was pressed. */
  readonly isAsked: boolean;
}

/** Reads the field while it is still in the page. */
export function typedIn(field: HTMLInputElement, isAsked: boolean): Typed {
  const { value, selectionStart, selectionEnd } = field;
  const end = selectionEnd ?? value.length;
  return { value, isAsked, start: selectionStart ?? end, end, hasFocus: field === document.activeElement };
}
