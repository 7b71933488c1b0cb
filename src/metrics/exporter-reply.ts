import type { IncomingMessage } from 'node:http';
import { MonitorError } from '../errors.ts';
import { isMetricsType, isOpenMetrics } from './content-types.ts';

/** A complete, checked response of the exporter. */
export interface MetricsReply {
  readonly status: 200;
  /** Exactly as the exporter sent it: Prometheus refuses a scrape whose type it cannot parse. */
  readonly contentType: string;
  /** Shared by all concurrent requests, so it must not be changed. */
  readonly body: Buffer;
}

const OPEN_METRICS_END = Buffer.from('# EOF\n');

/**
 * Reads a response to its end and refuses it unless it is complete and valid. Calls either `done` or `fail`
 * first; ignore any later call.
 *
 * @param maxBytes maximum size of the body, in bytes
 */
export function readReply(
  response: IncomingMessage,
  maxBytes: number,
  done: (reply: MetricsReply) => void,
  fail: (error: MonitorError) => void,
): void {
  const refuse = (detail: string): void => fail(new MonitorError('exporter_invalid', detail));
  // Attach this first: a broken connection emits `error` on the response.
  response.on('error', () => refuse(CUT));
  const contentType = response.headers['content-type'];
  const fault = findFault(response, maxBytes);
  if (fault !== null || contentType === undefined) {
    refuse(fault ?? UNKNOWN_TYPE);
    return;
  }

  const chunks: Buffer[] = [];
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes) {
      chunks.length = 0;
      refuse(tooLarge(maxBytes));
    } else chunks.push(chunk);
  });
  response.on('end', () => {
    const body = Buffer.concat(chunks);
    if (!response.complete) refuse(CUT);
    else if (!isFramed(response) && !marksItsEnd(contentType, body)) refuse(UNFRAMED);
    else done({ status: 200, contentType, body });
  });
  // Has no effect after `end`. Without `end` the body is incomplete.
  response.on('close', () => refuse(CUT));
}

const CUT = 'The connection to the metrics exporter broke before the end of its answer.';
const UNKNOWN_TYPE =
  'The metrics exporter did not answer with a content type of Prometheus text, OpenMetrics or protobuf.';
const UNFRAMED =
  'The metrics exporter sends neither Content-Length nor chunks, so a cut answer could not be told from a whole one.';

function tooLarge(maxBytes: number): string {
  return `The metrics exporter's answer is larger than ${maxBytes} bytes.`;
}

function findFault(response: IncomingMessage, maxBytes: number): string | null {
  const status = response.statusCode ?? 0;
  if (status >= 300 && status < 400) {
    return `The metrics exporter answered with a redirect (status ${status}), which is not followed.`;
  }
  if (status !== 200) return `The metrics exporter answered with status ${status}.`;
  if (!isMetricsType(response.headers['content-type'])) return UNKNOWN_TYPE;
  const encoding = response.headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    return 'The metrics exporter compressed its answer although it was asked not to.';
  }
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) return tooLarge(maxBytes);
  return null;
}

/**
 * Without a length or chunks the end of the connection ends the body, even when it is incomplete (RFC 9112,
 * 6.3).
 */
function isFramed({ headers }: IncomingMessage): boolean {
  if (headers['content-length'] !== undefined) return true;
  return /(?:^|,)\s*chunked\s*$/i.test(headers['transfer-encoding'] ?? '');
}

function marksItsEnd(contentType: string, body: Buffer): boolean {
  return isOpenMetrics(contentType) && body.subarray(-OPEN_METRICS_END.length).equals(OPEN_METRICS_END);
}
