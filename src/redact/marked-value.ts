/** Where the value of a key stands in notations that put more than a sign between them: XML, forms, YAML … */
import { lineEnd } from './value-end.ts';

/** Where a value begins, and how it ends when it is neither a string nor in brackets. */
export interface MarkedPlace {
  readonly value: number;
  readonly bare: 'word' | 'line' | 'element';
}

/** A line break, also as strings write it. */
const BREAK = '(?:\\r?\\n|\\\\+r\\\\+n|\\\\+n)';

/** `<password>`, `<wsse:Password Type="x">`, and what may stand between it and its value. */
const ELEMENT = /(?:\s[\w:.-]{1,64}=\\*["'][^<>]{0,256})?>(?:<!\[CDATA\[)?/y;
const ELEMENT_START = /<(?:[\w.-]{1,64}:)?$/;

/** `name="password" value=`, `- name: PASSWORD` and `value:` in the next line. */
const NAME_BEFORE = /(?:name|key|id)(?:=|:[ \t]?)\\*["']?$/i;
const ATTRIBUTE = /\\*["']\s{1,8}value=/iy;
const NEXT_MEMBER = new RegExp(`["']?[ \\t]{0,8}${BREAK}[ \\t]{0,64}value:[ \\t]*`, 'iy');

/** `Content-Disposition: form-data; name="password"` and an empty line. */
const FORM_PART = new RegExp(`\\\\*["'](?:;[^\\r\\n\\\\]{0,256})?${BREAK}${BREAK}`, 'y');

/** A message of pydantic: the field, and in the next line its fault with `input_value=`. */
const FAULTY_INPUT = new RegExp(`${BREAK} {2,8}[^\\r\\n]{0,256}?\\binput_value=`, 'y');

/** @returns `null` when the key stands in none of these notations */
export function markedPlace(text: string, start: number, end: number): MarkedPlace | null {
  const previous = text[start - 1];
  const next = text[end] ?? '';
  if (previous === '<' || previous === ':') {
    const value = ELEMENT_START.test(before(text, start)) ? behind(ELEMENT, text, end) : null;
    if (value !== null) return { value, bare: 'element' };
  }
  // Nearly all keys have something else behind them.
  if (!`"'\\\r\n`.includes(next) || next === '') return null;
  if (NAME_BEFORE.test(before(text, start))) {
    const attribute = behind(ATTRIBUTE, text, end);
    if (attribute !== null) return { value: attribute, bare: 'word' };
    const line = behind(NEXT_MEMBER, text, end) ?? behind(FORM_PART, text, end);
    if (line !== null) return { value: line, bare: 'line' };
  }
  const input = behind(FAULTY_INPUT, text, end);
  return input === null ? null : { value: input, bare: 'word' };
}

/** Enough of what stands before a key to tell its notation. */
function before(text: string, start: number): string {
  return text.slice(Math.max(0, start - 72), start);
}

/** Behind what a pattern matches at a place; `null` when it does not. */
function behind(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}

const BLOCK = new RegExp(`(?:![^\\s\\\\]{1,64}[ \\t]{1,8})?[|>][+-]?\\d?[ \\t]{0,8}${BREAK}`, 'y');
const LIST = new RegExp(`[ \\t]{0,8}${BREAK}(?=[ \\t]{0,64}- )`, 'y');
const LINE_BREAK = new RegExp(BREAK, 'y');
const LINE_BEFORE = /(?:[\r\n"']|\\+[nr]|^)([ \t-]{0,64})$/;

/**
 * The end of a value of YAML that stands in the lines below its key, further to the right: a block (`password: |`)
 * or a list; `null` when the value is none.
 *
 * @param from behind the colon
 */
export function yamlBlockEnd(text: string, from: number, keyStart: number): number | null {
  const first = behind(BLOCK, text, from) ?? behind(LIST, text, from);
  if (first === null) return null;
  const indent = LINE_BEFORE.exec(text.slice(Math.max(0, keyStart - 80), keyStart))?.[1]?.length ?? 0;
  let end: number | null = null;
  for (let line: number | null = first; line !== null; line = behind(LINE_BREAK, text, end as number)) {
    const content = behind(/[ \t]*/y, text, line) as number;
    const isWithin = content - line > indent || (content - line === indent && text.startsWith('- ', content));
    const last = lineEnd(text, content);
    // Blank lines belong to a block.
    if (!isWithin && last > content) break;
    end = last;
  }
  return end;
}
