/**
 * Keeps what is too large from amqplib, which assembles each message in memory, however many bytes it announces: a
 * message that is too long arrives without its body.
 */

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
/** A content header (section 4.2.6.1) begins with class and weight (2 bytes each) and the size of the body. */
const BODY_SIZE_AT = BEGIN_BYTES + 4;
const HEADER_BYTES = BODY_SIZE_AT + 8;

/** Takes the bytes of a connection. @returns those to pass on; a reason if the connection is to end */
export type FrameLimits = (chunk: Buffer) => readonly Buffer[] | 'PROTOCOL' | 'OVERSIZE';

/** Limits of one connection, from its first byte. */
export function createFrameLimits(): FrameLimits {
  /** Channels whose next frames are the body of a message that is too long. */
  const tooLong = new Set<number>();
  /** The beginning of a frame that is not complete. */
  let begun: Buffer = Buffer.alloc(0);
  /** Bytes of the present frame that are to come. */
  let left = 0;
  let isDropped = false;

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
    left = BEGIN_BYTES + size + END_BYTES;
    return null;
  }

  return (chunk) => {
    const bytes = begun.length === 0 ? chunk : Buffer.concat([begun, chunk]);
    begun = bytes.subarray(bytes.length);
    const passed: Buffer[] = [];
    let from = 0;
    let at = 0;
    while (at < bytes.length) {
      if (left === 0) {
        if (bytes.length - at < (bytes[at] === HEADER ? HEADER_BYTES : BEGIN_BYTES)) {
          begun = bytes.subarray(at);
          break;
        }
        const reason = enter(bytes, at);
        if (reason !== null) return reason;
        if (isDropped && at > from) passed.push(bytes.subarray(from, at));
      }
      const taken = Math.min(left, bytes.length - at);
      at += taken;
      left -= taken;
      if (isDropped) from = at;
    }
    if (at > from) passed.push(bytes.subarray(from, at));
    return passed;
  };
}
