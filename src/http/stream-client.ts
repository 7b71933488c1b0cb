/** The clients of streams, and the messages that they read (HTML Standard, 9.2 "Server-sent events"). */

import { scheduler } from '../scheduler.ts';
import type { AnswerEntry } from './answer-body.ts';
import { isGone, type MonitorRequest, type MonitorResponse, onLeave, setCommon } from './exchange.ts';

/** A client with more unread bytes than this gets no further message: its stream ends, and it continues later. */
const MOST_UNREAD = 1_048_576;

/** Bytes written at a time; the next are written when the client has taken these. */
const CHUNK_BYTES = 65_536;

/** How long a client waits before it reconnects, in milliseconds. */
const RETRY_MS = 2_000;

const COMMENT = messageWith(Buffer.from(':\n\n'));
const GOODBYE = messageWith(Buffer.from(`retry: ${RETRY_MS}\n\n`));

/** An open stream. */
export type StreamClient = ReturnType<typeof createStreamClient>;

/** Writes the next bytes of a client; returns how many. */
type Advance = () => number;

interface ClientState {
  readonly response: MonitorResponse;
  /** Messages that are not written completely. */
  readonly queue: StreamMessage[];
  /** Bytes of the first of them that have been written. */
  written: number;
  /** Whether the connection takes no more until it drains. */
  isFull: boolean;
  isEnding: boolean;
  /** When the client last read something, in monotonic milliseconds. */
  movedAt: number;
  readonly advance: Advance;
}

/** Sends the headers and creates the client. Does not send the first answer, only takes its cursor. */
export function createStreamClient(
  request: MonitorRequest,
  response: MonitorResponse,
  { content, freshness }: AnswerEntry,
  endsAt: number,
) {
  sendHeaders(response);
  const now = performance.now();
  const state: ClientState = {
    response,
    queue: [],
    written: 0,
    isFull: false,
    isEnding: false,
    movedAt: now,
    advance: () => advance(state),
  };
  response.on('drain', () => {
    state.isFull = false;
    state.movedAt = performance.now();
    schedule(state.advance);
  });
  onLeave(response)(() => {
    while (state.queue.length > 0) shift(state);
  });
  const end = (): void => {
    if (state.isEnding || isGone(response)) return;
    state.isEnding = true;
    push(state, GOODBYE);
  };
  return {
    request,
    /** Cursor of the last message sent. */
    cursor: content.position?.cursor ?? '',
    /** `Freshness.outages` of the last message sent. */
    outages: freshness.outages,
    /** When `authorize` was last called, in monotonic milliseconds. */
    allowedAt: now,
    /** When the stream ends at the latest, in monotonic milliseconds. */
    endsAt,
    /** Number of bytes that the client has not read yet. */
    unread: () => unreadBy(state),
    /** @returns false when the client is gone, or reads too slowly, so that its stream ends */
    write(message: StreamMessage): boolean {
      if (state.isEnding || isGone(response) || response.writableEnded) return false;
      const isSlow = unreadBy(state) > MOST_UNREAD;
      if (isSlow) end();
      else push(state, message);
      return !isSlow;
    },
    /** Sends a comment, to keep the connection alive. */
    comment(): void {
      if (state.queue.length === 0 && !state.isEnding) push(state, COMMENT);
    },
    /** Disconnects a client that has read nothing for so many milliseconds although there was something to read. */
    dropAfter: (ms: number): void => dropAfter(state, ms),
    /** Disconnects the client now. It continues behind the last message that it has read completely. */
    drop: () => void response.destroy(),
    /** Asks the client to reconnect, and ends the stream when it has read the rest. */
    end,
  };
}

function unreadBy({ queue, written, response }: ClientState): number {
  return queue.reduce((sum, { bytes }) => sum + bytes.length, response.writableLength - written);
}

function push(state: ClientState, message: StreamMessage): void {
  hold(message);
  state.queue.push(message);
  schedule(state.advance);
}

function shift(state: ClientState): void {
  const message = state.queue.shift();
  if (message !== undefined) release(message);
  state.written = 0;
}

function dropAfter(state: ClientState, ms: number): void {
  const now = performance.now();
  if (unreadBy(state) === 0) state.movedAt = now;
  else if (now - state.movedAt >= ms) state.response.destroy();
}

function advance(state: ClientState): number {
  const { response, queue } = state;
  const [message] = queue;
  if (message === undefined || state.isFull || isGone(response)) return 0;
  const { bytes } = message;
  const chunk = bytes.subarray(state.written, state.written + CHUNK_BYTES);
  state.written += chunk.length;
  const isLast = state.written === bytes.length;
  try {
    // A copy of the last chunk, which may wait for long: the chunk itself would keep the whole message in memory.
    state.isFull = !response.write(isLast && bytes.length > CHUNK_BYTES ? Buffer.from(chunk) : chunk);
    if (isLast) {
      shift(state);
      // The package `compression` adds `flush`, and buffers messages until it is called.
      (response as { flush?: () => void }).flush?.();
      if (state.isEnding && queue.length === 0) response.end();
    }
  } catch {
    // A response that the host has wrapped.
    response.destroy();
  }
  if (!state.isFull && queue.length > 0) schedule(state.advance);
  return chunk.length;
}

function sendHeaders(response: MonitorResponse): void {
  response.statusCode = 200;
  response.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
  setCommon(response, 'no-store');
  // Without this header nginx buffers messages.
  response.setHeader('X-Accel-Buffering', 'no');
  response.flushHeaders();
}

/** Most bytes that all streams write in one turn of the event loop, since copying them to the sockets takes time. */
const TURN_BYTES = 1_048_576;
/** A write takes as long as copying this many bytes, in addition to its own. */
const WRITE_BYTES = 8_192;

/** Writes of all clients that can take more. */
const due = new Set<Advance>();
let isTurnDue = false;
// Taken when the module is loaded, so that fake timers of a test do not stop streams.
const nextTurn = setImmediate;

function schedule(advance: Advance): void {
  due.add(advance);
  arrangeTurn();
}

function arrangeTurn(): void {
  if (isTurnDue || due.size === 0) return;
  isTurnDue = true;
  nextTurn(writeDue);
}

function writeDue(): void {
  let left = TURN_BYTES;
  for (const advance of due) {
    due.delete(advance);
    left -= scheduler.measure(advance) + WRITE_BYTES;
    if (left <= 0) break;
  }
  isTurnDue = false;
  arrangeTurn();
}

/** A message. It can be sent to every client with the same cursor. */
export interface StreamMessage {
  readonly bytes: Buffer;
  /** Number of clients that have not read all of it. */
  readers: number;
}

const KEY = Symbol.for('express-task-monitor.unread.1');

/** Bytes of all unread messages of the process. A message counts once, however many clients read it. */
const unread: { bytes: number } = sharedCount(globalThis as { [KEY]?: { bytes: number } });

/** ESM and CommonJS entries and several installed copies of the library share it. */
function sharedCount(holder: { [KEY]?: { bytes: number } }): { bytes: number } {
  holder[KEY] ??= { bytes: 0 };
  return holder[KEY];
}

const messages = new WeakMap<AnswerEntry, StreamMessage>();

/** The message with this answer: the same for all clients that get the answer. */
export function messageOf(entry: AnswerEntry): StreamMessage {
  const made = messages.get(entry);
  if (made !== undefined) return made;
  const { body, content } = entry;
  const id = content.position?.cursor ?? '';
  const message = messageWith(Buffer.concat([Buffer.from(`id: ${id}\ndata: `), body, Buffer.from('\n\n')]));
  messages.set(entry, message);
  return message;
}

function messageWith(bytes: Buffer): StreamMessage {
  return { bytes, readers: 0 };
}

/** Bytes of all unread messages of the process. */
export function unreadBytes(): number {
  return unread.bytes;
}

/** Notes that a client begins to read a message. */
function hold(message: StreamMessage): void {
  if (message.readers === 0) unread.bytes += message.bytes.length;
  message.readers += 1;
}

/** Notes that a client has read a message, or has left. */
function release(message: StreamMessage): void {
  message.readers -= 1;
  if (message.readers === 0) unread.bytes -= message.bytes.length;
}
