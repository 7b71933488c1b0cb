/**
 * How many elements to read at once from a list of unknown sizes: one at first, more while they are small, so
 * that most replies have at most a quarter of a megabyte.
 */
const FIRST = 1;
const GROWTH = 4;
const MOST = 200;
/** Most characters of a reply. */
const REPLY = 256 * 1024;
/** Factor by which the known largest size shrinks with each reply. */
const FADE = 0.8;

/** The number of elements to read. */
export interface Window {
  /** @param wanted the most to return */
  size(wanted?: number): number;
  /** Records the elements of a reply. */
  saw(elements: readonly (string | null)[]): void;
  /** Size of the largest recent element, in characters. */
  largest(): number;
}

/** @returns a window for the elements of one list, which are likely to be similar */
export function createWindow(): Window {
  let most = FIRST;
  let largest = 0;
  return {
    size: (wanted = MOST) => Math.max(1, Math.min(wanted, most)),
    saw(elements) {
      if (elements.length === 0) return;
      const longest = elements.reduce((longest, element) => Math.max(longest, element?.length ?? 0), 0);
      largest = Math.max(longest, largest * FADE);
      const fitting = Math.floor(REPLY / Math.max(largest, 1));
      most = Math.min(MOST, Math.max(1, fitting), Math.max(most, elements.length * GROWTH));
    },
    largest: () => largest,
  };
}
