/** One client of a stream, and the format of messages (HTML Standard, 9.2 "Server-sent events"). */

import type { AnswerEntry } from './answer-entry.ts';
import type { MonitorRequest, MonitorResponse } from './exchange.ts';

/** A client with more unsent bytes than this is too slow: it is disconnected, and can resume later. */
const MOST_UNSENT = 1_048_576;

/** How long a client waits before it reconnects, in milliseconds. */
const RETRY_MS = 2_000;

const COMMENT = Buffer.from(':\n\n');
const GOODBYE = Buffer.from(`retry: ${RETRY_MS}\n\n`);

/** An open stream. */
export interface StreamClient {
  readonly request: MonitorRequest;
  /** Cursor of the last message sent. */
  cursor: string;
  /** `Freshness.outages` of the last message sent. */
  outages: string;
  /** When `authorize` was last called, in monotonic milliseconds. */
  allowedAt: number;
  /** When the stream ends at the latest, in monotonic milliseconds. */
  readonly endsAt: number;
  /** Number of bytes that have not been sent yet. */
  unsent(): number;
  /** @returns false when the client is gone, or was too slow and has been disconnected */
  write(message: Buffer): boolean;
  /** Sends a comment, to keep the connection alive. */
  comment(): void;
  /** Ends the stream and asks the client to reconnect. */
  end(): void;
}

/** Formats a message; it can be sent to every client with the same cursor. */
export function messageOf({ body, content }: AnswerEntry): Buffer {
  const id = content.position?.cursor ?? '';
  return Buffer.concat([Buffer.from(`id: ${id}\ndata: `), body, Buffer.from('\n\n')]);
}

/** Sends the headers and creates the client. Does not send the first answer, only takes its cursor. */
export function createStreamClient(
  request: MonitorRequest,
  response: MonitorResponse,
  { content, freshness }: AnswerEntry,
  endsAt: number,
): StreamClient {
  response.statusCode = 200;
  response.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  // Without this header nginx buffers messages.
  response.setHeader('X-Accel-Buffering', 'no');
  response.flushHeaders();

  function send(chunk: Buffer): boolean {
    if (response.destroyed || response.writableEnded) return false;
    if (response.writableLength > MOST_UNSENT) {
      response.destroy();
      return false;
    }
    response.write(chunk);
    // The package `compression` adds `flush`, and buffers messages until it is called.
    (response as { flush?: () => void }).flush?.();
    return true;
  }

  return {
    request,
    cursor: content.position?.cursor ?? '',
    outages: freshness.outages,
    allowedAt: performance.now(),
    endsAt,
    unsent: () => response.writableLength,
    write: send,
    comment: () => void send(COMMENT),
    end() {
      if (send(GOODBYE)) response.end();
    },
  };
}
