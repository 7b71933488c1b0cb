/** Finds the ends of YAML values in the lines below their key. */
import { afterBreak, codeAt, isQuoteCode, NO_CODE, skipBlanks } from './units.ts';
import { lineEnd } from './value-end.ts';

/** Number of characters of the indentation before an index, list marks included. */
function indentOf(text: string, at: number): number {
  let start = at;
  while (start > at - 64 && start > 0 && ' \t-'.includes(text[start - 1] as string)) start--;
  const previous = codeAt(text, start - 1);
  const isEscaped = (previous === 110 || previous === 114) && codeAt(text, start - 2) === 92;
  const isLine =
    previous === NO_CODE || previous === 10 || previous === 13 || isQuoteCode(previous) || isEscaped;
  return isLine ? at - start : 0;
}

/** Beginning of a YAML block or list below a key: index after the line of the key; -1 when there is none. */
function yamlBlockStart(text: string, from: number): number {
  const code = codeAt(text, from);
  if (code !== 124 && code !== 62 && code !== 33 && code !== 10 && code !== 13 && code !== 92) return -1;
  if (code === 10 || code === 13 || code === 92) {
    const line = afterBreak(text, from);
    return line !== -1 && text.startsWith('- ', skipBlanks(text, line)) ? line : -1;
  }
  BLOCK.lastIndex = from;
  return BLOCK.test(text) ? afterBreak(text, BLOCK.lastIndex) : -1;
}

const BLOCK = /(?:![^\s\\]{1,64}[ \t]{1,8})?[|>][+-]?\d?[ \t]{0,8}(?=[\r\n\\])/y;

/**
 * End of a YAML value in the lines below its key, indented further: a block (`password: |`) or a list. `null`
 * when there is no such value.
 *
 * @param from index after the colon
 */
export function yamlBlockEnd(text: string, from: number, keyStart: number): number | null {
  let line = yamlBlockStart(text, from);
  if (line === -1) return null;
  const indent = indentOf(text, keyStart);
  let end: number | null = null;
  while (line !== -1) {
    const content = skipBlanks(text, line);
    const isWithin = content - line > indent || (content - line === indent && text.startsWith('- ', content));
    const last = lineEnd(text, content);
    // A block may contain blank lines.
    if (!isWithin && last > content) break;
    end = last;
    line = afterBreak(text, last);
  }
  return end;
}
