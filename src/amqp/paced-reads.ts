/**
 * Lets messages collect in the socket of a consumer, so that one read takes many of them: RabbitMQ sends each message
 * by itself, and waking up for each of them takes more CPU time than everything else. amqplib requests more after each
 * read, so a later answer is enough; node-redis takes data as it arrives, see `redis/paced-reads.ts`.
 */
import { Socket } from 'node:net';

/** Milliseconds without reading after each read. */
const PAUSE_MS = 100;
/** Bytes. After more than this in one read the next follows at once: RabbitMQ sends no more until it is acknowledged. */
const MUCH = 48 * 1024;

/** Paces the reads of one socket. */
export interface PacedReads {
  /** Options for the socket. One with TLS ignores them: it reads each message when it arrives. */
  readonly socketOptions: object;
  /** To be called when the messages begin: until then, each read is an awaited reply. */
  start(): void;
}

/** Reads at once after silence, and then at most once in 100 ms. */
export function createPacedReads(): PacedReads {
  let isStarted = false;
  /** Bytes of the socket when the last read was taken. */
  let taken = 0;

  /** Node calls it when everything that was read before has been taken. */
  function read(this: Socket, size: number): void {
    const arrived = this.bytesRead - taken;
    taken = this.bytesRead;
    if (!isStarted || arrived === 0 || arrived > MUCH) {
      Socket.prototype._read.call(this, size);
      return;
    }
    setTimeout(() => {
      if (!this.destroyed) Socket.prototype._read.call(this, size);
    }, PAUSE_MS).unref();
  }

  return {
    // The socket stops reading from the system as soon as its own buffer is full: after one read.
    socketOptions: { read, readableHighWaterMark: 1 },
    start() {
      isStarted = true;
    },
  };
}
