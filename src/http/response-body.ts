import { createHash } from 'node:crypto';
import type { ReadResult } from '../read.ts';
import type { Steps } from '../scheduler.ts';
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

/** A body of several parts, in steps because it may be large. */
export interface PartedBody extends Pick<AnswerContent, 'position'> {
  /** What the ETag covers beside the parts. */
  readonly covers?: string;
  /** JSON text before and after the parts, for a time in milliseconds since 1970. */
  around(generatedAt: number): readonly [before: string, after: string];
  /** JSON text and encoded JSON text. */
  readonly parts: readonly (string | Buffer)[];
}

/** The content of a body of several parts, followed by `sources`. */
export function* contentOfParts({ covers = '', around, parts, ...extra }: PartedBody): Steps<AnswerContent> {
  const hash = createHash('sha1').update(covers);
  const encoded = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
  let bytes = 0;
  for (const part of encoded) {
    hash.update(part);
    bytes += part.length;
    yield;
  }
  return {
    ...extra,
    stable: hash.digest('base64url'),
    bytes,
    render(generatedAt, sources) {
      const [before, after] = around(generatedAt);
      return Buffer.concat([Buffer.from(before), ...encoded, Buffer.from(`${after}"sources":${sources}}`)]);
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
