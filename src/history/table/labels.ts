/**
 * Strings that repeat (task names, workers, queues, states), each stored once and numbered from 1;
 * 0 stands for none. A label that nothing refers to any more is forgotten and its number used again,
 * so that invented names cannot fill the memory.
 */
export interface Labels {
  /** Estimate of what the texts and their lists take. */
  readonly bytes: number;
  /** The number of this text, given now if it has none. Does not count as a reference. */
  intern(text: string): number;
  /** The number of this text; 0 when nothing refers to it. */
  find(text: string): number;
  text(label: number): string;
  retain(label: number): void;
  release(label: number): void;
  /** Every text in use. */
  all(): string[];
  /** Calls back when a label is forgotten. */
  onForgotten(callback: (label: number) => void): void;
}

/** A label's list in the index, its place in the table and its string header, about. */
const BYTES_PER_LABEL = 500;

/** @returns an empty table */
export function createLabels(): Labels {
  const numbers = new Map<string, number>();
  const texts: string[] = [''];
  const references: number[] = [0];
  const free: number[] = [];
  let length = 0;
  // Messages come in bursts of one worker or name.
  let lastText = '';
  let lastLabel = 0;
  let forgotten: (label: number) => void = () => {};

  return {
    get bytes() {
      return length * 2 + numbers.size * BYTES_PER_LABEL;
    },
    intern(text) {
      if (lastLabel !== 0 && text === lastText) return lastLabel;
      let label = numbers.get(text);
      if (label === undefined) {
        label = free.pop() ?? texts.length;
        texts[label] = text;
        references[label] = 0;
        numbers.set(text, label);
        length += text.length;
      }
      lastText = text;
      lastLabel = label;
      return label;
    },
    find: (text) => numbers.get(text) ?? 0,
    text: (label) => texts[label] as string,
    retain(label) {
      references[label] = (references[label] as number) + 1;
    },
    release(label) {
      if (label === 0) return;
      const left = (references[label] as number) - 1;
      references[label] = left;
      if (left > 0) return;
      forgotten(label);
      if (label === lastLabel) lastLabel = 0;
      numbers.delete(texts[label] as string);
      length -= (texts[label] as string).length;
      texts[label] = '';
      free.push(label);
    },
    all: () => [...numbers.keys()],
    onForgotten(callback) {
      forgotten = callback;
    },
  };
}

/** @returns the text as it is stored here, if it is: one copy of it is enough */
export function heldText(strings: Labels, text: string): string {
  const string = strings.find(text);
  return string === 0 ? text : strings.text(string);
}

/**
 * Holds the text that a task has now until the indexes take it over.
 *
 * @param pending held until now
 * @param indexed the one that the indexes hold
 * @returns what is pending now
 */
export function holdPending(strings: Labels, pending: number, indexed: number, text: string | null): number {
  const string = text === null ? 0 : strings.intern(text);
  if (string === pending) return pending;
  if (string !== indexed) strings.retain(string);
  if (pending !== indexed) strings.release(pending);
  return string;
}
