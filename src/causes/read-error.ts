/** Splits an error into the name of its class and its message, as Python, JavaScript and Celery write them. */

/** An error, as text. */
export interface ErrorText {
  /** Name of the class without its module; `null`: the text has none. */
  readonly exception: string | null;
  /** The message with all values; `''`: there is none. */
  readonly message: string;
}

/** Longest name of a class. */
const LONGEST_NAME = 128;

/**
 * Reads `ValueError('boom')`, `shop.errors.Declined: no funds`, `TypeError [ERR_X]: boom`, or a message without a class.
 *
 * @param text some thousand characters at most
 */
export function readError(text: string): ErrorText {
  const trimmed = text.trim();
  const end = endOfPath(trimmed);
  const path = trimmed.slice(0, end);
  const name = path.slice(path.lastIndexOf('.') + 1);
  if (name !== '' && end <= LONGEST_NAME) {
    if (trimmed[end] === '(') {
      const isClosed = trimmed.endsWith(')');
      return {
        exception: name,
        message: messageOf(trimmed.slice(end + 1, isClosed ? -1 : undefined), name),
      };
    }
    if (isClass(path, name)) {
      const rest = trimmed.slice(end);
      if (rest === '') return { exception: name, message: '' };
      const colon = /^(?: \[\w+\])?:(?=\s|$)/.exec(rest);
      if (colon !== null) return { exception: name, message: rest.slice(colon[0].length).trim() };
    }
  }
  return { exception: null, message: unquoted(trimmed) ?? trimmed };
}

/** A class name begins with a capital letter, or follows the name of a module. */
function isClass(path: string, name: string): boolean {
  const first = name[0] as string;
  return path !== name || first !== first.toLowerCase();
}

/** The end of the dotted name with which the text begins. */
function endOfPath(text: string): number {
  if (!/^[A-Za-z_$]/.test(text)) return 0;
  let end = 0;
  while (end < text.length && end <= LONGEST_NAME && /[\w$.]/.test(text[end] as string)) end++;
  return end;
}

/**
 * The message in the arguments of an exception, as Python's repr writes them: sentences without their quotes. The only
 * argument of a KeyError counts as a value, and so does each of several arguments that is a single word.
 */
function messageOf(args: string, name: string): string {
  const parts = argumentsIn(args);
  const only = parts.length === 1 && name !== 'KeyError';
  return parts
    .map((part) => {
      const text = unquoted(part);
      return text !== null && (only || text.includes(' ')) ? text : part;
    })
    .join(', ');
}

/** The arguments, split at the commas outside of quotes and brackets. */
function argumentsIn(args: string): string[] {
  const parts: string[] = [];
  let quote = '';
  let depth = 0;
  let start = 0;
  for (let at = 0; at < args.length; at++) {
    const character = args[at] as string;
    if (quote !== '') {
      if (character === '\\') at++;
      else if (character === quote) quote = '';
    } else if (character === "'" || character === '"') quote = character;
    else if ('([{'.includes(character)) depth++;
    else if (')]}'.includes(character)) depth--;
    else if (character === ',' && depth === 0) {
      parts.push(args.slice(start, at).trim());
      start = at + 1;
    }
  }
  // A tuple with one item ends with a comma.
  const last = args.slice(start).trim();
  return last === '' && parts.length > 0 ? parts : [...parts, last];
}

/** The content of a text that is quoted as a whole, even if it is cut; `null`: it is not. */
function unquoted(text: string): string | null {
  const quote = text[0];
  if (quote !== "'" && quote !== '"') return null;
  for (let at = 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === quote) return at === text.length - 1 ? unescaped(text.slice(1, -1)) : null;
  }
  return unescaped(text.slice(1));
}

/** Replaces escapes; line breaks become blanks. */
function unescaped(text: string): string {
  return text.includes('\\')
    ? text.replace(/\\(.)/g, (_, of: string) => (/[nrt]/.test(of) ? ' ' : of))
    : text;
}
