/** Finds the value of a key in notations with more than a separator between them: XML, forms, YAML … */
import { lineEnd } from './value-end.ts';

/** Where a value begins, and how it ends when it is neither a string nor in brackets. */
export interface MarkedPlace {
  readonly value: number;
  readonly bare: 'word' | 'line' | 'element';
}

/** A line break, plain or escaped. */
const BREAK = '(?:\\r?\\n|\\\\+r\\\\+n|\\\\+n)';

/** What may come between an XML tag's name and its value: `<password>`, `<wsse:Password Type="x">`. */
const ELEMENT = /(?:\s[\w:.-]{1,64}=\\*["'][^<>]{0,256})?>(?:<!\[CDATA\[)?/y;
const ELEMENT_START = /<(?:[\w.-]{1,64}:)?$/;

/**
 * What comes before a key in `name="password" value=`, or in `- name: PASSWORD` with `value:` on the next
 * line.
 */
const NAME_BEFORE = /(?:name|key|id)(?:=|:[ \t]?)\\*["']?$/i;
const ATTRIBUTE = /\\*["']\s{1,8}value=/iy;
const NEXT_MEMBER = new RegExp(`["']?[ \\t]{0,8}${BREAK}[ \\t]{0,64}value:[ \\t]*`, 'iy');

/**
 * What comes between name and value in a form: `Content-Disposition: form-data; name="password"` and an empty
 * line.
 */
const FORM_PART = new RegExp(`\\\\*["'](?:;[^\\r\\n\\\\]{0,256})?${BREAK}${BREAK}`, 'y');

/**
 * What comes between field and value in a message of pydantic: the fault on the next line, with
 * `input_value=`.
 */
const FAULTY_INPUT = new RegExp(`${BREAK} {2,8}[^\\r\\n]{0,256}?\\binput_value=`, 'y');

/** @returns `null` when the key is in none of these notations */
export function markedPlace(text: string, start: number, end: number): MarkedPlace | null {
  const previous = text[start - 1];
  const next = text[end] ?? '';
  if (previous === '<' || previous === ':') {
    const value = ELEMENT_START.test(before(text, start)) ? behind(ELEMENT, text, end) : null;
    if (value !== null) return { value, bare: 'element' };
  }
  // Returns early for most keys.
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

/** Enough text before a key to recognise its notation. */
function before(text: string, start: number): string {
  return text.slice(Math.max(0, start - 72), start);
}

/** Index after what a pattern matches at `at`; `null` when it does not match. */
function behind(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}

const BLOCK = new RegExp(`(?:![^\\s\\\\]{1,64}[ \\t]{1,8})?[|>][+-]?\\d?[ \\t]{0,8}${BREAK}`, 'y');
const LIST = new RegExp(`[ \\t]{0,8}${BREAK}(?=[ \\t]{0,64}- )`, 'y');
const LINE_BREAK = new RegExp(BREAK, 'y');
const LINE_BEFORE = /(?:[\r\n"']|\\+[nr]|^)([ \t-]{0,64})$/;

/**
 * End of a YAML value in the lines below its key, indented further: a block (`password: |`) or a list. `null`
 * when there is no such value.
 *
 * @param from index after the colon
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
    // A block may contain blank lines.
    if (!isWithin && last > content) break;
    end = last;
  }
  return end;
}
