/**
 * How the sockets of our clients are read:
 *
 * - Messages collect in the socket of a subscriber, so that one read takes many of them. A busy deployment publishes
 *   each message by itself, and waking up for each of them takes more CPU time than everything else.
 * - What is too large is kept from the client, which assembles each reply in memory, however much it announces: a text
 *   that is too long arrives empty.
 */
import { Socket } from 'node:net';
import { redisError } from './problems.ts';

/** Milliseconds without reading after each read. */
const PAUSE_MS = 100;
/** Bytes. After more than this in one read the next follows at once: a flood would fill the buffers of Redis. */
const MUCH = 48 * 1024;

/** Paces the reads of one socket. */
export type PacedReads = ReturnType<typeof createPacedReads>;

/** Reads at once after silence, and then at most once in 100 ms. */
export function createPacedReads() {
  let isStarted = false;
  let isPaused = false;
  /** Bytes of the socket when the last read was taken. */
  let taken = 0;

  function resume(socket: Socket): void {
    isPaused = false;
    // Data read before the pause took effect counts as taken: it must not begin another pause.
    taken = socket.bytesRead;
    socket.resume();
  }

  /** Node calls it when a read has been delivered, and before the first one. */
  function read(this: Socket, size: number): void {
    Socket.prototype._read.call(this, size);
    const arrived = this.bytesRead - taken;
    taken = this.bytesRead;
    if (!isStarted || isPaused || !(arrived > 0 && arrived <= MUCH)) return;
    isPaused = true;
    this.pause();
    setTimeout(resume, PAUSE_MS, this).unref();
  }

  return {
    // The paused socket stops reading from the system as soon as its own buffer is full: after one more read.
    /**
     * Options for the socket, which node-redis passes on to Node. A socket that ignores them, such as one with TLS,
     * reads each message when it arrives.
     */
    socketOptions: { ...limitedSocket(read), readableHighWaterMark: 1 },
    /** To be called when the messages begin: until then, each read is an awaited reply. */
    start() {
      isStarted = true;
    },
  };
}

/** Longest text that is assembled, in bytes. */
const LONGEST_TEXT = 16 * 1024 * 1024;
/** Longest text that Redis keeps, by default; and most bytes of one reply. */
const LONGEST_ANNOUNCED = 512 * 1024 * 1024;
const LONGEST_REPLY = 256 * 1024 * 1024;
/** Most items of one list, deepest nesting, and longest line. */
const MOST_ITEMS = 10_000_000;
const DEEPEST = 64;
const LONGEST_LINE = 64 * 1024;

const CR = 13;
const LF = 10;
/** Types of RESP 2 and 3 by their first byte: `$!=` texts, `*~>` lists, `%|` members. Every other one is a line. */
const TEXTS = new Set([36, 33, 61]);
const LISTS = new Set([42, 126, 62]);
const MEMBERS = new Set([37, 124]);
/** Attributes, which come before the reply that they belong to. */
const ATTRIBUTES = 124;
const EMPTY_TEXT = Buffer.from('$0\r\n\r\n');

const limited = new WeakSet<Socket>();

/** Limits what a socket hands to its client. To be called before it has read anything. */
export function limitReplies(socket: Socket): void {
  if (limited.has(socket)) return;
  limited.add(socket);
  const limits = createReplyLimits();
  const push = socket.push.bind(socket);
  socket.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (!(chunk instanceof Uint8Array)) return push(chunk, encoding);
    const passed = limits(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    if (passed === null) {
      socket.destroy(redisError('OVERSIZE'));
      return false;
    }
    let isWanted = true;
    for (const part of passed) isWanted = push(part);
    return isWanted;
  };
}

/**
 * Options for a socket that limits what it hands to its client. Node passes them on, unless the socket has TLS.
 *
 * @param read how it reads. Default: as every socket
 */
export function limitedSocket(read: (this: Socket, size: number) => void = Socket.prototype._read): object {
  return {
    read(this: Socket, size: number): void {
      limitReplies(this);
      read.call(this, size);
    },
  };
}

interface State {
  /** The beginning of a line that is not complete. */
  begun: Buffer;
  /** Bytes of a text that are to come, with the end of its line. */
  left: number;
  isDropped: boolean;
  /** Items that are to come, of each list around the present one. */
  readonly open: number[];
  /** Bytes of the present reply. */
  length: number;
}

/**
 * Limits of one connection, from its first byte.
 *
 * @returns takes the bytes of the connection, and returns those to pass on; `null` if the connection is to end
 */
function createReplyLimits() {
  const state: State = { begun: Buffer.alloc(0), left: 0, isDropped: false, open: [], length: 0 };
  return (chunk: Buffer): readonly Buffer[] | null => {
    const bytes = state.begun.length === 0 ? chunk : Buffer.concat([state.begun, chunk]);
    state.begun = bytes.subarray(bytes.length);
    const passed: Buffer[] = [];
    let from = 0;
    let at = 0;
    while (at < bytes.length) {
      if (state.left === 0) {
        const end = bytes.indexOf(LF, at);
        if (end < 0) {
          if (bytes.length - at > LONGEST_LINE) return null;
          state.begun = bytes.subarray(at);
          break;
        }
        if (!takeLine(state, bytes, at, end)) return null;
        if (state.isDropped) {
          passed.push(bytes.subarray(from, at), EMPTY_TEXT);
          at = end + 1;
          from = at;
        } else at = end + 1;
      }
      const taken = Math.min(state.left, bytes.length - at);
      at += taken;
      state.left -= taken;
      if (state.isDropped) from = at;
      if (state.left === 0) state.isDropped = false;
    }
    if (at > from) passed.push(bytes.subarray(from, at));
    return passed.filter(({ length }) => length > 0);
  };
}

/** @returns whether the reply is within its limits */
function takeLine(state: State, bytes: Buffer, at: number, end: number): boolean {
  const type = bytes[at] ?? 0;
  const isText = TEXTS.has(type);
  const isList = LISTS.has(type) || MEMBERS.has(type);
  const size = isText || isList ? sizeIn(bytes, at + 1, end) : 0;
  state.length += end + 1 - at;
  if (isText) {
    if (size > LONGEST_ANNOUNCED) return false;
    state.left = size < 0 ? 0 : size + 2;
    state.isDropped = size > LONGEST_TEXT;
    if (!state.isDropped) state.length += state.left;
  }
  if (isList && size > 0) {
    if (size > MOST_ITEMS || state.open.length >= DEEPEST) return false;
    state.open.push((MEMBERS.has(type) ? 2 * size : size) + (type === ATTRIBUTES ? 1 : 0));
  } else if (type !== ATTRIBUTES) closeItems(state);
  return state.length <= LONGEST_REPLY;
}

/** An item is complete, and so may be the lists that it ends. */
function closeItems(state: State): void {
  const { open } = state;
  while (open.length > 0) {
    const items = (open.pop() ?? 1) - 1;
    if (items === 0) continue;
    open.push(items);
    return;
  }
  state.length = 0;
}

/** The number in a line; a huge one, or none, is infinite. */
function sizeIn(bytes: Buffer, from: number, end: number): number {
  const isNegative = bytes[from] === 45;
  const last = bytes[end - 1] === CR ? end - 1 : end;
  let size = 0;
  for (let at = isNegative ? from + 1 : from; at < last; at += 1) {
    const digit = (bytes[at] ?? 0) - 48;
    if (digit < 0 || digit > 9) return Number.POSITIVE_INFINITY;
    size = size * 10 + digit;
  }
  return isNegative ? -1 : size;
}
