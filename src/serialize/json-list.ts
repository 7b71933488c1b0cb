import type { Steps } from '../scheduler.ts';

/** Length of a piece in characters, after which it is encoded. */
const PIECE_LENGTH = 65_536;

interface Piece {
  readonly bytes: Buffer;
  /** Where each item ends. */
  readonly ends: readonly number[];
}

/**
 * The items of a list as JSON, each written when it is first needed. All readers share the written JSON, even while
 * they run at the same time.
 */
export interface JsonList {
  /** Bytes in memory. */
  readonly bytes: number;
  /** The first items, separated by commas, in pieces. */
  first(count: number): Steps<readonly Buffer[]>;
}

interface ListState {
  readonly pieces: Piece[];
  /** Texts of the items in the next piece, and their total length. */
  texts: string[];
  length: number;
  /** Items written so far, and bytes of the pieces. */
  written: number;
  bytes: number;
}

/** @param textOf the JSON text of one item */
export function createJsonList<Item>(items: readonly Item[], textOf: (item: Item) => string): JsonList {
  const state: ListState = { pieces: [], texts: [], length: 0, written: 0, bytes: 0 };
  return {
    get bytes() {
      return state.bytes;
    },
    *first(count) {
      const most = Math.min(count, items.length);
      while (state.written < most) {
        add(state, textOf(items[state.written] as Item));
        yield;
      }
      return take(state, most);
    },
  };
}

/** All items as JSON, separated by commas, in pieces. */
export function toJson<Item>(
  items: readonly Item[],
  textOf: (item: Item) => string,
): Steps<readonly Buffer[]> {
  return createJsonList(items, textOf).first(items.length);
}

function add(state: ListState, text: string): void {
  state.texts.push(state.written === 0 ? text : `,${text}`);
  state.written += 1;
  state.length += text.length;
  if (state.length < PIECE_LENGTH) return;
  const piece = encode(state.texts);
  state.pieces.push(piece);
  state.bytes += piece.bytes.length;
  state.texts = [];
  state.length = 0;
}

function encode(texts: readonly string[]): Piece {
  let end = 0;
  const ends = texts.map((text) => {
    end += Buffer.byteLength(text);
    return end;
  });
  return { bytes: Buffer.from(texts.join('')), ends };
}

function take({ pieces, texts }: ListState, count: number): readonly Buffer[] {
  const taken: Buffer[] = [];
  let left = count;
  for (const { bytes, ends } of pieces) {
    if (left === 0) return taken;
    taken.push(left < ends.length ? bytes.subarray(0, ends[left - 1]) : bytes);
    left -= Math.min(left, ends.length);
  }
  if (left > 0) taken.push(Buffer.from(texts.slice(0, left).join('')));
  return taken;
}
