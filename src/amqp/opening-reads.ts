/**
 * amqplib returns a connection only after it has handled all data that arrived together with the reply to
 * `connection.open`. There can be no listeners before that, so an error in this data would end the host's process. Data
 * after that reply is therefore held back until there are listeners.
 */
import type { Socket } from 'node:net';
import { createFrameLimits } from './frame-limits.ts';
import { amqpError } from './problems.ts';

/** Bytes that are read at once. */
const READ_BYTES = 64 * 1024;

/** A frame (AMQP 0-9-1, section 4.2.3): type, channel, size (4 bytes), payload, end. A method begins with its ids. */
const SIZE_AT = 3;
const PAYLOAD_AT = 7;
const FRAME_BYTES = 8;
const METHOD_BYTES = 4;
const OPEN_OK = 0x000a_0029;

/** Reads of a socket on which a connection is opened. */
export interface OpeningReads {
  /** Options for the socket, with and without TLS. */
  readonly socketOptions: object;
  /** To be called once there are listeners. */
  release(): void;
}

/** Lets everything through up to the reply to `connection.open`. */
export function createOpeningReads(): OpeningReads {
  const endOfOpenOk = createFrameReader();
  const limits = createFrameLimits();
  let socket: Socket | null = null;
  /** The data that arrived after the reply; `null` while nothing is held back. */
  let held: Buffer[] | null = null;
  let isOpen = false;

  /** Node passes the number of bytes that it has written into its buffer. @returns whether to continue reading */
  function callback(this: Socket, bytes: number, buffer: Buffer): boolean {
    socket = this;
    const passed = limits(Buffer.from(buffer.subarray(0, bytes)));
    if (typeof passed === 'string') {
      this.destroy(amqpError(passed));
      return false;
    }
    if (passed.length === 0) return true;
    const chunk = passed.length === 1 ? (passed[0] as Buffer) : Buffer.concat(passed);
    if (held !== null) {
      held.push(chunk);
      return false;
    }
    const end = isOpen ? null : endOfOpenOk(chunk);
    if (end === null) return this.push(chunk);
    held = [chunk.subarray(end)];
    return this.push(chunk.subarray(0, end));
  }

  return {
    socketOptions: { onread: { buffer: Buffer.allocUnsafe(READ_BYTES), callback } },
    release() {
      const chunks = held ?? [];
      isOpen = true;
      held = null;
      for (const chunk of chunks) if (chunk.length > 0) socket?.push(chunk);
    },
  };
}

/** @returns takes the bytes of frames; returns where the reply to `connection.open` ends, or `null` */
function createFrameReader(): (chunk: Buffer) => number | null {
  let at = 0;
  let size = 0;
  let method = 0;
  return (chunk) => {
    for (const [index, byte] of chunk.entries()) {
      if (at >= SIZE_AT && at < PAYLOAD_AT) size = size * 256 + byte;
      else if (at >= PAYLOAD_AT && at < PAYLOAD_AT + METHOD_BYTES) method = method * 256 + byte;
      at += 1;
      if (at < FRAME_BYTES || at < size + FRAME_BYTES) continue;
      if (method === OPEN_OK) return index + 1;
      at = 0;
      size = 0;
      method = 0;
    }
    return null;
  };
}
