import type { ReadResult } from '../read.ts';
import type { AnswerContent, Unreadable } from './answer-entry.ts';

/** The content of a body in which only `sources` and `generated_at` (when it has one) change with time. */
export function contentOf(
  body: object,
  {
    generatedAt = false,
    ...extra
  }: Omit<AnswerContent, 'stable' | 'render'> & { readonly generatedAt?: boolean } = {},
): AnswerContent {
  return contentOfMembers(JSON.stringify(body).slice(1, -1), { generatedAt, ...extra });
}

/** The same as {@link contentOf}. @param stable one or more members of the body as JSON text, without braces */
export function contentOfMembers(
  stable: string,
  {
    generatedAt = false,
    ...extra
  }: Omit<AnswerContent, 'stable' | 'render'> & { readonly generatedAt?: boolean } = {},
): AnswerContent {
  return {
    ...extra,
    stable,
    render(moment, sources) {
      const at = generatedAt ? `"generated_at":"${new Date(moment).toISOString()}",` : '';
      return `{${stable},${at}"sources":${sources}}`;
    },
  };
}

/** Converts the items of a source with `show`. Counts the items that cannot be read or exceed `most`. */
export function readItems<Item, Shown>(
  list: unknown,
  most: number,
  sourceOf: ReadResult['sourceOf'],
  show: (item: Item) => Shown | null,
): { readonly shown: Shown[]; readonly unreadable: Unreadable } {
  if (!Array.isArray(list)) throw new TypeError('The source must return an array.');
  const length = Math.min(list.length, most);
  const shown: Shown[] = [];
  const unreadable = new Map<string, number>();
  const leaveOut = (item: unknown, count: number): void => {
    const source = sourceOf(item);
    unreadable.set(source, (unreadable.get(source) ?? 0) + count);
  };
  for (let index = 0; index < length; index += 1) {
    const item: unknown = list[index];
    const row = show(item as Item);
    if (row === null) leaveOut(item, 1);
    else shown.push(row);
  }
  if (list.length > length) leaveOut(list[length], list.length - length);
  return { shown, unreadable };
}
