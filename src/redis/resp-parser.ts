/** Parses the replies of Redis in RESP 2, as they arrive in pieces. */
import { redisError } from './problems.ts';

/** A reply; the refusal of a command is an `Error` with the text of Redis. */
export type RespReply = string | number | null | Error | readonly RespReply[];

/** Parses a stream of replies. */
export interface RespParser {
  /**
   * Takes the next piece and reports each reply that is complete. The piece may be overwritten afterwards.
   *
   * @throws RedisError when this is not RESP 2
   */
  write(piece: Buffer): void;
}

interface State {
  bytes: Buffer;
  /** Where the next value begins. */
  at: number;
  /** A reply cannot be complete before so many bytes have arrived. */
  needed: number;
}

const INCOMPLETE = Symbol('incomplete');
const [CR, LF, MINUS, ZERO] = [13, 10, 45, 48];
const [TEXT, REFUSAL, INTEGER, BULK, ARRAY] = [43, 45, 58, 36, 42];

/** @param take called for each reply */
export function createRespParser(take: (reply: RespReply) => void): RespParser {
  /** The beginning of a reply that is not complete yet. */
  let pieces: Buffer[] = [];
  let waiting = 0;
  let needed = 0;
  return {
    write(piece) {
      waiting += piece.length;
      if (waiting < needed) {
        pieces.push(Buffer.from(piece));
        return;
      }
      const bytes = pieces.length === 0 ? piece : Buffer.concat([...pieces, piece]);
      const state: State = { bytes, at: 0, needed: 0 };
      let begin = 0;
      while (begin < bytes.length) {
        const reply = readValue(state);
        if (reply === INCOMPLETE) break;
        begin = state.at;
        state.needed = 0;
        take(reply);
      }
      waiting = bytes.length - begin;
      needed = state.needed - begin;
      pieces = waiting === 0 ? [] : [Buffer.from(bytes.subarray(begin))];
    },
  };
}

function readValue(state: State): RespReply | typeof INCOMPLETE {
  const { bytes, at } = state;
  switch (bytes[at]) {
    case BULK:
      return readBulk(state);
    case ARRAY:
      return readArray(state);
    case INTEGER:
      return readInteger(state);
    case TEXT:
      return readLine(state);
    case REFUSAL: {
      const line = readLine(state);
      return line === INCOMPLETE ? line : new Error(line);
    }
    case undefined:
      return INCOMPLETE;
    default:
      throw redisError('LOST');
  }
}

function readLine(state: State): string | typeof INCOMPLETE {
  const end = state.bytes.indexOf('\r\n', state.at);
  if (end < 0) return INCOMPLETE;
  const line = state.bytes.toString('utf8', state.at + 1, end);
  state.at = end + 2;
  return line;
}

function readInteger(state: State): number | typeof INCOMPLETE {
  const { bytes } = state;
  const isNegative = bytes[state.at + 1] === MINUS;
  let value = 0;
  for (let at = state.at + (isNegative ? 2 : 1); at + 1 < bytes.length; at += 1) {
    const digit = bytes[at] as number;
    if (digit === CR && bytes[at + 1] === LF) {
      state.at = at + 2;
      return isNegative ? -value : value;
    }
    value = value * 10 + digit - ZERO;
  }
  return INCOMPLETE;
}

function readBulk(state: State): string | null | typeof INCOMPLETE {
  const length = readInteger(state);
  if (length === INCOMPLETE || length < 0) return length === INCOMPLETE ? length : null;
  const end = state.at + length;
  if (state.bytes.length < end + 2) {
    state.needed = end + 2;
    return INCOMPLETE;
  }
  const text = state.bytes.toString('utf8', state.at, end);
  state.at = end + 2;
  return text;
}

function readArray(state: State): RespReply[] | null | typeof INCOMPLETE {
  const length = readInteger(state);
  if (length === INCOMPLETE || length < 0) return length === INCOMPLETE ? length : null;
  const values: RespReply[] = [];
  for (let index = 0; index < length; index += 1) {
    const value = readValue(state);
    if (value === INCOMPLETE) return INCOMPLETE;
    values.push(value);
  }
  return values;
}
