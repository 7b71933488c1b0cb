/**
 * How the socket of a connection is read, before amqplib gets the bytes:
 *
 * - What is too large is kept from amqplib, which assembles each message in memory, however many bytes it announces: a
 *   message that is too long arrives without its body.
 * - What comes behind the reply to `connection.open` is held back until there are listeners. amqplib returns a connection
 *   only after it has handled all data that arrived together with that reply, so an error in this data would end the
 *   host's process.
 * - Messages collect in the socket of a consumer, so that one read takes many of them: RabbitMQ sends each message by
 *   itself, and waking up for each of them takes more CPU time than everything else. amqplib requests more after each
 *   read, so a later answer is enough; node-redis takes data as it arrives, see `redis/reads.ts`.
 */
import { Socket } from 'node:net';
import { amqpError } from './problems.ts';

/** Bytes that are read at once. */
const READ_BYTES = 64 * 1024;
/** Milliseconds without reading after each paced read. */
const PAUSE_MS = 100;
/** Bytes. After more than this in one read the next follows at once: RabbitMQ sends no more until it is acknowledged. */
const MUCH = 48 * 1024;

/** Holds back what comes behind the opening; reads at once after silence, and then, if paced, at most once in 100 ms. */
export function createSocketReads() {
  let socket: Socket | null = null;
  let state: 'opening' | 'held' | 'open' = 'opening';
  let passed: Buffer[] = [];
  let held: Buffer[] = [];
  let isPaced = false;
  /** Bytes of the socket when the last read was taken. */
  let taken = 0;
  const takeFrames = createFrameReader({
    pass: (bytes) => void (state === 'held' ? held : passed).push(bytes),
    opened() {
      if (state === 'opening') state = 'held';
    },
  });

  /** Node passes the number of bytes that it has written into its buffer. @returns whether to continue reading */
  function callback(this: Socket, bytes: number, buffer: Buffer): boolean {
    socket = this;
    const fault = takeFrames(Buffer.from(buffer.subarray(0, bytes)));
    if (fault !== null) {
      this.destroy(amqpError(fault));
      return false;
    }
    if (passed.length === 0) return state !== 'held';
    const chunk = passed.length === 1 ? (passed[0] as Buffer) : Buffer.concat(passed);
    passed = [];
    return this.push(chunk);
  }

  /** Node calls it when everything that was read before has been taken. */
  function read(this: Socket, size: number): void {
    const arrived = this.bytesRead - taken;
    taken = this.bytesRead;
    if (!isPaced || arrived === 0 || arrived > MUCH) {
      Socket.prototype._read.call(this, size);
      return;
    }
    setTimeout(() => {
      if (!this.destroyed) Socket.prototype._read.call(this, size);
    }, PAUSE_MS).unref();
  }

  return {
    /** Options for the socket. One with TLS ignores the pace: it reads each message when it arrives. */
    socketOptions: {
      onread: { buffer: Buffer.allocUnsafe(READ_BYTES), callback },
      read,
      // The socket stops reading from the system as soon as its own buffer is full: after one read.
      readableHighWaterMark: 1,
    },
    /** To be called once there are listeners: passes on what was held back. */
    release() {
      state = 'open';
      for (const chunk of held) socket?.push(chunk);
      held = [];
    },
    /** To be called when the messages begin: until then, each read is an awaited reply. */
    startPacing() {
      isPaced = true;
    },
  };
}

/** Longest body of a message that is assembled, in bytes. */
const LONGEST_BODY = 8 * 1024 * 1024;
/** Longest message that any RabbitMQ accepts. */
const LONGEST_ANNOUNCED = 512n * 1024n * 1024n;
/** Longest frame. RabbitMQ proposes 128 KiB. */
const LONGEST_FRAME = 1024 * 1024;

/** A frame (AMQP 0-9-1, section 4.2.3): type, channel (2 bytes), size (4 bytes), payload, end. */
const METHOD = 1;
const HEADER = 2;
const BODY = 3;
const BEGIN_BYTES = 7;
const END_BYTES = 1;
/** A method begins with the ids of its class and of its own (2 bytes each). */
const METHOD_BYTES = BEGIN_BYTES + 4;
const OPEN_OK = 0x000a_0029;
/** A content header (section 4.2.6.1) begins with class and weight (2 bytes each) and the size of the body. */
const BODY_SIZE_AT = BEGIN_BYTES + 4;
const HEADER_BYTES = BODY_SIZE_AT + 8;

/** @returns takes the bytes of one connection, from its first; returns a reason if the connection is to end */
function createFrameReader({
  pass,
  opened,
}: {
  /** Called with bytes that amqplib may have, in their order. */
  pass(bytes: Buffer): void;
  /** Called behind the last byte of the reply to `connection.open`. */
  opened(): void;
}) {
  /** Channels whose next frames are the body of a message that is too long. */
  const tooLong = new Set<number>();
  /** The beginning of a frame that is not complete. */
  let begun: Buffer = Buffer.alloc(0);
  /** Bytes of the present frame that are to come. */
  let left = 0;
  let isDropped = false;
  let isOpenOk = false;

  /** Judges the frame that begins here. */
  function enter(bytes: Buffer, at: number): 'PROTOCOL' | 'OVERSIZE' | null {
    const type = bytes[at];
    const channel = bytes.readUInt16BE(at + 1);
    const size = bytes.readUInt32BE(at + 3);
    if (size > LONGEST_FRAME) return 'PROTOCOL';
    if (type === METHOD || type === HEADER) tooLong.delete(channel);
    if (type === HEADER && size + BEGIN_BYTES >= HEADER_BYTES) {
      const announced = bytes.readBigUInt64BE(at + BODY_SIZE_AT);
      if (announced > LONGEST_ANNOUNCED) return 'OVERSIZE';
      if (announced > LONGEST_BODY) {
        bytes.writeBigUInt64BE(0n, at + BODY_SIZE_AT);
        tooLong.add(channel);
      }
    }
    isDropped = type === BODY && tooLong.has(channel);
    isOpenOk = type === METHOD && bytes.readUInt32BE(at + BEGIN_BYTES) === OPEN_OK;
    left = BEGIN_BYTES + size + END_BYTES;
    return null;
  }

  return (chunk: Buffer): 'PROTOCOL' | 'OVERSIZE' | null => {
    const bytes = begun.length === 0 ? chunk : Buffer.concat([begun, chunk]);
    begun = bytes.subarray(bytes.length);
    let from = 0;
    let at = 0;
    const passUpTo = (end: number): void => {
      if (end > from) pass(bytes.subarray(from, end));
      from = end;
    };
    while (at < bytes.length) {
      if (left === 0) {
        if (bytes.length - at < neededBytes(bytes[at])) {
          begun = bytes.subarray(at);
          break;
        }
        const reason = enter(bytes, at);
        if (reason !== null) return reason;
        if (isDropped) passUpTo(at);
      }
      const taken = Math.min(left, bytes.length - at);
      at += taken;
      left -= taken;
      if (isDropped) from = at;
      if (isOpenOk && left === 0) {
        passUpTo(at);
        opened();
      }
    }
    passUpTo(at);
    return null;
  };
}

/** How much of a frame of this type must be there to judge it. */
function neededBytes(type: number | undefined): number {
  if (type === HEADER) return HEADER_BYTES;
  return type === METHOD ? METHOD_BYTES : BEGIN_BYTES;
}
