/** Recognizes values that are not secret, although their key names a secret. */
import { codeAt } from './units.ts';
import { isCutAt, type Span } from './url-credentials.ts';

/** Whether the value is a number of tokens, as in `tokens: 512`. */
export function isCount(text: string, keyEnd: number, { start, end }: Span): boolean {
  const first = codeAt(text, start);
  if (first < 48 || first > 57 || !/^\d+$/.test(text.slice(start, Math.min(end, start + 16)))) return false;
  return /tokens$/i.test(text.slice(Math.max(0, keyEnd - 6), keyEnd));
}

const WORKING_DIRECTORY = /^\$?(?:old)?pwd$/i;
const DIRECTORY =
  /^(?:~|[A-Z]:\\|\/(?:app|bin|builds?|code|data|etc|home|media|mnt|opt|project\w*|root|site|src|srv|tmp|usr|Users|var|web|work\w*|www)?(?![^/]))[\w./\\@-]*$/;

/** Whether the value is the working directory of a shell: `PWD=/srv/app`. */
export function isDirectory(text: string, keyStart: number, keyEnd: number, { start, end }: Span): boolean {
  if (keyEnd - keyStart > 7 || (codeAt(text, keyEnd - 1) | 32) !== 100) return false;
  if (!WORKING_DIRECTORY.test(text.slice(keyStart, keyEnd))) return false;
  return DIRECTORY.test(text.slice(start, Math.min(end, start + 256)));
}

/** Whether the masked text looks random, like signatures of requests and unlike those of functions. */
export function looksRandom(text: string, { start, end }: Span, isCut: boolean): boolean {
  const value = text.slice(start, Math.min(end, start + 512)).replace(/^\w{2,12}=/, '');
  if (isCutAt(text, end, isCut) && /^[\w+/=%-]+$/.test(value)) return true;
  if (value.length < 16 || !/^[\w+/=%:-]+$/.test(value) || !/\d/.test(value)) return false;
  return (/[a-z]/.test(value) && /[A-Z]/.test(value)) || /^[\da-fA-F]+$/.test(value);
}
