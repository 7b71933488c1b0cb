/** The same fields with any values, as sources return them. */
export type Given<T> = { readonly [Key in keyof T]?: unknown };

/** Serializes the readable items of a list. */
export function rows<Item, Body>(
  list: unknown,
  most: number,
  bodyOf: (item: Given<Item>) => Body | null,
): Body[] {
  if (!Array.isArray(list)) return [];
  const bodies: Body[] = [];
  for (const item of list.slice(0, most)) {
    const body = typeof item === 'object' && item !== null ? bodyOf(item as Given<Item>) : null;
    if (body !== null) bodies.push(body);
  }
  return bodies;
}
