import type { Draft } from './answer.ts';

/** An answer of which nothing but `sources` and, where there is one, `generated_at` is a matter of moments. */
export function draftOf(
  body: object,
  {
    generatedAt = false,
    ...extra
  }: Omit<Draft, 'stable' | 'render'> & { readonly generatedAt?: boolean } = {},
): Draft {
  return draftOfMembers(JSON.stringify(body).slice(1, -1), { generatedAt, ...extra });
}

/** @param stable members of the body as JSON text, without braces; at least one */
export function draftOfMembers(
  stable: string,
  {
    generatedAt = false,
    ...extra
  }: Omit<Draft, 'stable' | 'render'> & { readonly generatedAt?: boolean } = {},
): Draft {
  return {
    ...extra,
    stable,
    render(moment, sources) {
      const at = generatedAt ? `"generated_at":"${new Date(moment).toISOString()}",` : '';
      return `{${stable},${at}"sources":${sources}}`;
    },
  };
}

/** Turns what a source lists into what is shown; what cannot be read, or is too much, is counted instead. */
export function readItems<Item, Shown>(
  list: unknown,
  most: number,
  show: (item: Item) => Shown | null,
): { readonly shown: Shown[]; readonly unreadable: number } {
  if (!Array.isArray(list)) throw new TypeError('The source must return an array.');
  const length = Math.min(list.length, most);
  const shown: Shown[] = [];
  for (let index = 0; index < length; index += 1) {
    const item = show(list[index] as Item);
    if (item !== null) shown.push(item);
  }
  return { shown, unreadable: list.length - shown.length };
}
