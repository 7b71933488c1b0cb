/**
 * Compares the list that a task was called with to the results of a group. Celery calls the body of a chord
 * with the results of its header (celery/backends/redis.py, `on_chord_part_return`), so equality proves
 * which chord a body belongs to. Digests are compared, since a header may have many large results.
 *
 * Both texts are Python reprs, but the list may be shortened: Celery's `saferepr` leaves out values nested
 * deeper than three levels, and the arguments themselves take two of those. JSON also turns tuples into
 * lists. So a digest treats all brackets as equal, and ignores everything nested within a result.
 */

/** The first argument of a task, which is a list. */
export interface ListArgument {
  /** Number of items; if the sender has cut the list, of `visible` items. */
  readonly count: number;
  /** Sum of the digests of all items, so that the order of results does not matter. */
  readonly sum: number;
  /** Digests of the first items if the sender has cut the list, else `null`. */
  readonly visible: readonly number[] | null;
}

/** Characters of an item that its digest covers. */
const DIGEST_LENGTH = 256;

/** Fewer visible items of a list that was cut prove nothing; more are not compared. */
const MIN_VISIBLE = 4;
const MAX_VISIBLE = 64;

/**
 * @param args the repr of the positional arguments: `([1, 2], 'x')`
 * @returns `null` when the first argument is not a list, or when too few of its items are visible
 */
export function listArgument(args: string): ListArgument | null {
  if (!args.startsWith('([')) return null;
  const digests: number[] = [];
  let at = 2;
  for (;;) {
    while (args[at] === ' ') at += 1;
    if (args[at] === ']') return whole(digests);
    const end = itemEnd(args, at);
    if (end < 0 || isCut(args, at, end)) return cut(digests);
    digests.push(resultDigest(args.slice(at, end)));
    at = args[end] === ',' ? end + 1 : end;
  }
}

function whole(digests: readonly number[]): ListArgument | null {
  return digests.length === 0 ? null : { count: digests.length, sum: sumOf(digests), visible: null };
}

function cut(digests: readonly number[]): ListArgument | null {
  if (digests.length < MIN_VISIBLE) return null;
  const visible = digests.slice(0, MAX_VISIBLE);
  return { count: visible.length, sum: 0, visible };
}

function sumOf(digests: readonly number[]): number {
  return digests.reduce((sum, digest) => sum + digest, 0);
}

/** `saferepr` leaves `22...` or `'aaaa...'` of an item that it cuts, and `...` for all further items. */
function isCut(text: string, start: number, end: number): boolean {
  const last = text[end - 1];
  const behind = last === "'" || last === '"' ? end - 1 : end;
  return behind - start >= 3 && text.startsWith('...', behind - 3);
}

/** Index of the comma or bracket behind an item; −1 when the text ends before. */
function itemEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const char = text[at];
    if (char === "'" || char === '"') at = quoteEnd(text, at);
    else if (char === '[' || char === '(' || char === '{') depth += 1;
    else if (char === ']' || char === ')' || char === '}') {
      if (depth === 0) return at;
      depth -= 1;
    } else if (char === ',' && depth === 0) return at;
    at += 1;
  }
  return -1;
}

/** Index of the closing quote; the length of the text, or more, when there is none. */
function quoteEnd(text: string, start: number): number {
  const quote = text[start];
  let at = start + 1;
  while (at < text.length && text[at] !== quote) at += text[at] === '\\' ? 2 : 1;
  return at;
}

/** A number that is equal for equal results (FNV-1a over the compared characters of the repr). */
export function resultDigest(text: string): number {
  let hash = 0x811c9dc5;
  let depth = 0;
  let counted = 0;
  let at = 0;
  while (at < text.length && counted < DIGEST_LENGTH) {
    const char = text[at] as string;
    const isQuote = char === "'" || char === '"';
    const end = isQuote ? Math.min(quoteEnd(text, at) + 1, text.length) : at + 1;
    const opens = char === '[' || char === '(' || char === '{';
    const closes = char === ']' || char === ')' || char === '}';
    if (closes) depth -= 1;
    if (depth <= 1 && char !== ' ' && !(char === ',' && text[at + 1] === ')')) {
      const stop = Math.min(end, at + DIGEST_LENGTH - counted);
      for (let index = at; index < stop; index++) {
        const code = opens ? 91 : closes ? 93 : text.charCodeAt(index);
        hash = Math.imul(hash ^ code, 0x01000193);
      }
      counted += stop - at;
    }
    if (opens) depth += 1;
    at = end;
  }
  return hash >>> 0;
}
