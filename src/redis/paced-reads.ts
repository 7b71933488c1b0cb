/**
 * Lets messages collect in the socket of a subscriber, so that one read takes many of them. A busy deployment
 * publishes each message by itself, and waking up for each of them takes more CPU time than everything else.
 */
import { Socket } from 'node:net';
import { limitedSocket } from './reply-limits.ts';

/** Milliseconds without reading after each read. */
const PAUSE_MS = 100;
/** Bytes. After more than this in one read the next follows at once: a flood would fill the buffers of Redis. */
const MUCH = 48 * 1024;

/** Paces the reads of one socket. */
export interface PacedReads {
  /**
   * Options for the socket, which node-redis passes on to Node. A socket that ignores them, such as one with TLS,
   * reads each message when it arrives.
   */
  readonly socketOptions: object;
  /** To be called when the messages begin: until then, each read is an awaited reply. */
  start(): void;
}

/** Reads at once after silence, and then at most once in 100 ms. */
export function createPacedReads(): PacedReads {
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
    socketOptions: { ...limitedSocket(read), readableHighWaterMark: 1 },
    start() {
      isStarted = true;
    },
  };
}
