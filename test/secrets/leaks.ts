/** Looks for secrets in what came out, however large it is. */
import { partsOf, type SecretText } from './corpus/index.ts';

/**
 * @returns a function that lists the parts of these secrets that a text shows, at most ten. JSON bodies are looked at
 *   as they are: what it looks for are letters and digits, which JSON does not escape
 */
export function leakFinder(entries: readonly SecretText[]): (text: string) => string[] {
  const parts = new Set(entries.flatMap(partsOf));
  const length = [...parts][0]?.length ?? 0;
  // Few pairs of characters begin a part: most places need no further look.
  const pairs = new Uint8Array(65_536);
  const pairAt = (text: string, at: number): number =>
    ((text.charCodeAt(at) & 255) << 8) | (text.charCodeAt(at + 1) & 255);
  for (const part of parts) pairs[pairAt(part, 0)] = 1;
  return (whole) => {
    // Ids of causes are hashes of redacted texts. Some of their digits equal a part of some secret by chance.
    const text = whole.replace(/"cause":"[0-9a-f]{12}"/g, '');
    const leaks: string[] = [];
    for (let at = 0; at + length <= text.length && leaks.length < 10; at += 1) {
      if (pairs[pairAt(text, at)] === 1 && parts.has(text.slice(at, at + length)))
        leaks.push(text.slice(Math.max(0, at - 60), at + 30));
    }
    return leaks;
  };
}
