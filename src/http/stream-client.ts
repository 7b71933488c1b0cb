/** One client of a stream, and how messages are written (HTML Standard, 9.2 "Server-sent events"). */

import type { AnswerEntry } from './answer-entry.ts';
import type { MonitorRequest, MonitorResponse } from './exchange.ts';

/** A client with more than this unsent, in bytes, is too slow: it is dropped, and resumes when it can. */
const MOST_UNSENT = 1_048_576;

/** How long a client waits before it comes back, in milliseconds. */
const RETRY_MS = 2_000;

const COMMENT = Buffer.from(':\n\n');
const GOODBYE = Buffer.from(`retry: ${RETRY_MS}\n\n`);

/** An open stream. */
export interface StreamClient {
  readonly request: MonitorRequest;
  /** The last place that it was told. */
  cursor: string;
  /** Which sources are away, as it was told last. */
  outages: string;
  /** When its right to see this was last found out, in monotonic milliseconds. */
  allowedAt: number;
  /** Bytes that it has yet to take. */
  unsent(): number;
  /** @returns false when it was too slow and has been dropped */
  write(message: Buffer): boolean;
  /** Shows that the connection lives. */
  comment(): void;
  /** Ends it and asks it to come back. */
  end(): void;
}

/** A message, made once for all who are at the same place. */
export function messageOf({ body, content }: AnswerEntry): Buffer {
  const id = content.position?.cursor ?? '';
  return Buffer.concat([Buffer.from(`id: ${id}\ndata: `), body, Buffer.from('\n\n')]);
}

/** Sends the headers. @param first the first message, which is not sent yet */
export function createStreamClient(
  request: MonitorRequest,
  response: MonitorResponse,
  { content, freshness }: AnswerEntry,
): StreamClient {
  response.statusCode = 200;
  response.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  // nginx would hold messages back until its buffer is full.
  response.setHeader('X-Accel-Buffering', 'no');
  response.flushHeaders();

  function send(chunk: Buffer): boolean {
    if (response.destroyed || response.writableEnded) return false;
    if (response.writableLength > MOST_UNSENT) {
      response.destroy();
      return false;
    }
    response.write(chunk);
    // The package `compression` adds this, and holds messages back without it.
    (response as { flush?: () => void }).flush?.();
    return true;
  }

  return {
    request,
    cursor: content.position?.cursor ?? '',
    outages: freshness.outages,
    allowedAt: performance.now(),
    unsent: () => response.writableLength,
    write: send,
    comment: () => void send(COMMENT),
    end() {
      if (send(GOODBYE)) response.end();
    },
  };
}
