/** Formats JSON and Python reprs for reading. */

const WIDTH = 84;
/** Deepest nesting that is laid out, and most lines; what is beyond stays in one line. */
const DEEPEST = 24;
const MOST_LINES = 5_000;
const OPENERS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/** Breaks a value into indented lines. Short texts and texts that are not values stay unchanged. */
export function pretty(text: string): string {
  const trimmed = text.trim();
  if (trimmed.length <= WIDTH || trimmed.includes('\n') || !/[([{]/.test(trimmed)) return text;
  try {
    if (/^[[{]/.test(trimmed) && isModest(trimmed)) return JSON.stringify(JSON.parse(trimmed), null, 2);
  } catch {
    // Not JSON, so try a Python repr.
  }
  return layOut(readItems(trimmed, 0, '', 0).parts, '', { left: MOST_LINES }).trimStart();
}

/** Whether JSON of this text is neither deep nor long: brackets and commas in its strings count, too. */
function isModest(text: string): boolean {
  let depth = 0;
  let lines = 0;
  for (const character of text) {
    if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    else if (character !== ',') continue;
    lines += 1;
    if (depth > DEEPEST || lines > MOST_LINES) return false;
  }
  return true;
}

interface Bracket {
  readonly open: string;
  readonly close: string;
  readonly items: readonly Part[][];
  /** Of all of it in one line. */
  readonly length: number;
}

/** A text without brackets and commas, or a bracket with its items. */
type Part = string | Bracket;

function lengthOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

function bracketOf(open: string, close: string, items: readonly Part[][]): Bracket {
  const commas = 2 * Math.max(0, items.length - 1);
  const length = items.reduce((sum, item) => sum + lengthOf(item), open.length + close.length + commas);
  return { open, close, items, length };
}

interface Read {
  readonly parts: Part[];
  readonly items: Part[][];
  readonly end: number;
  /** False when the text was truncated before the closing bracket. */
  readonly isClosed: boolean;
}

function readItems(text: string, from: number, close: string, depth: number): Read {
  const items: Part[][] = [];
  let parts: Part[] = [];
  let start = from;
  let at = from;
  const flush = (): void => {
    if (at > start) parts.push(text.slice(start, at));
  };
  while (at < text.length) {
    const character = text[at] ?? '';
    if (character === "'" || character === '"') at = endOfString(text, at);
    else if (character === close) {
      flush();
      if (parts.length > 0) items.push(parts);
      // Keep the comma of a tuple with one item.
      else if (items.length === 1 && close === ')') items[0]?.push(',');
      return { parts, items, end: at + 1, isClosed: true };
    } else if (character === ',' && close !== '') {
      flush();
      items.push(parts);
      parts = [];
      at += 1;
      while (text[at] === ' ') at += 1;
      start = at;
    } else if (Object.hasOwn(OPENERS, character) && depth < DEEPEST) {
      flush();
      const ends = OPENERS[character] ?? '';
      const inner = readItems(text, at + 1, ends, depth + 1);
      parts.push(bracketOf(character, inner.isClosed ? ends : '', inner.items));
      at = inner.end;
      start = at;
    } else at += 1;
  }
  flush();
  if (parts.length > 0 && close !== '') items.push(parts);
  return { parts, items, end: at, isClosed: false };
}

/** Index after the closing quote, or the end of a truncated text. */
function endOfString(text: string, from: number): number {
  const quote = text[from];
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote) return at + 1;
  }
  return text.length;
}

function inOneLine(parts: readonly Part[]): string {
  return parts
    .map((part) =>
      typeof part === 'string' ? part : part.open + part.items.map(inOneLine).join(', ') + part.close,
    )
    .join('');
}

/** @param lines how many more there may be */
function layOut(parts: readonly Part[], indent: string, lines: { left: number }): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const fits = part.length + indent.length <= WIDTH || part.items.length === 0;
      if (fits || part.items.length > lines.left) return inOneLine([part]);
      lines.left -= part.items.length;
      const deeper = `${indent}  `;
      const laid = part.items.map((item) => `${deeper}${layOut(item, deeper, lines)}`);
      return `${part.open}\n${laid.join(',\n')}\n${indent}${part.close}`;
    })
    .join('');
}
