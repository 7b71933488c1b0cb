/**
 * How many elements to ask a list for at once, when nobody knows how large they are: one at first, more
 * while they turn out small, so that most replies are no larger than a quarter of a megabyte.
 */
const FIRST = 1;
const GROWTH = 4;
const MOST = 200;
/** Characters of one reply. */
const REPLY = 256 * 1024;
/** How fast the largest element is forgotten, with each reply. */
const FADE = 0.8;

/** How many to ask for. */
export interface Window {
  /** @param wanted no more than this */
  size(wanted?: number): number;
  /** Tells what a reply held. */
  saw(elements: readonly (string | null)[]): void;
  /** Length of the largest element seen lately, in characters. */
  largest(): number;
}

/** @returns one for elements that are likely to be of one sort: those of a list */
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
