import { createFirstSeen } from '../../causes/cause-groups.ts';
import type { TaskCause } from '../../model.ts';

/**
 * Strings that repeat (task names, workers, queues, states), each stored once under a number from 1 on; 0 stands for
 * none. A string without references is dropped and its number reused, so that invented names cannot fill the memory.
 */
export interface InternedStrings {
  /** Estimate of the memory that the strings and their lists in the indexes take. */
  readonly bytes: number;
  /** How many there are. */
  readonly count: number;
  /** The number of a text; a new one if it has none. This is no reference yet. */
  intern(text: string): number;
  /** The number of a text; 0 when it is not stored. */
  find(text: string): number;
  text(number: number): string;
  retain(number: number): void;
  release(number: number): void;
  /** All texts. */
  all(): string[];
  /** Sets what is called when a string is dropped. */
  onForgotten(callback: (number: number) => void): void;
}

/** Approximate memory of a string besides its characters: its list in the index, its entry here, its header. */
const BYTES_PER_STRING = 300;

/** @returns an empty table */
export function createInternedStrings(): InternedStrings {
  const numbers = new Map<string, number>();
  const texts: string[] = [''];
  const references: number[] = [0];
  const free: number[] = [];
  // Messages arrive in bursts of one worker or name.
  let lastText = '';
  let lastNumber = 0;
  let forgotten: (number: number) => void = () => {};

  const strings: InternedStrings & { bytes: number } = {
    bytes: 0,
    get count() {
      return numbers.size;
    },
    intern(text) {
      if (lastNumber !== 0 && text === lastText) return lastNumber;
      let number = numbers.get(text);
      if (number === undefined) {
        number = free.pop() ?? texts.length;
        texts[number] = text;
        references[number] = 0;
        numbers.set(text, number);
        strings.bytes += bytesOf(text);
      }
      lastText = text;
      lastNumber = number;
      return number;
    },
    find: (text) => numbers.get(text) ?? 0,
    text: (number) => texts[number] as string,
    retain(number) {
      references[number] = (references[number] as number) + 1;
    },
    release(number) {
      if (number === 0) return;
      const left = (references[number] as number) - 1;
      references[number] = left;
      if (left > 0) return;
      forgotten(number);
      if (number === lastNumber) lastNumber = 0;
      numbers.delete(texts[number] as string);
      strings.bytes -= bytesOf(texts[number] as string);
      texts[number] = '';
      free.push(number);
    },
    all: () => [...numbers.keys()],
    onForgotten(callback) {
      forgotten = callback;
    },
  };
  return strings;
}

function bytesOf(text: string): number {
  return BYTES_PER_STRING + 2 * text.length;
}

/** The memory of the texts of a cause, as a multiple of that of its id. */
const TEXTS_SHARE = 2;

/** Causes by number; 0 stands for none. */
export type CauseTable = ReturnType<typeof createCauseTable>;

/** @returns an empty table */
export function createCauseTable() {
  const strings = createInternedStrings();
  const seen = createFirstSeen();
  // A number that is reused is described again.
  const causes: (TaskCause | null)[] = [null];
  return {
    /** The ids. */
    strings,
    /** When causes were first seen, including those whose tasks have been dropped. */
    seen,
    /** Estimate of the memory. */
    bytes: (): number => (1 + TEXTS_SHARE) * strings.bytes + seen.bytes(),
    /** Notes what the number of an id stands for. */
    describe(number: number, cause: TaskCause): void {
      causes[number] = cause;
    },
    /** @returns `null` for 0 */
    read: (number: number): TaskCause | null => causes[number] ?? null,
  };
}
