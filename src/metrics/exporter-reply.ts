import type { IncomingMessage } from 'node:http';
import { MonitorError } from '../errors.ts';
import { isMetricsType, isOpenMetrics } from './content-types.ts';

/** A whole, checked answer of the exporter. */
export interface MetricsReply {
  readonly status: 200;
  /** Byte for byte as the exporter wrote it: Prometheus refuses a scrape with a type that it cannot read. */
  readonly contentType: string;
  /** Shared by all who asked at the same moment: not to be changed. */
  readonly body: Buffer;
}

const OPEN_METRICS_END = Buffer.from('# EOF\n');

/**
 * Reads the exporter's answer to its end and refuses whatever is not a whole one. Calls exactly one of
 * `done` and `fail` first; later calls mean nothing.
 *
 * @param maxBytes largest body, in bytes
 */
export function readReply(
  response: IncomingMessage,
  maxBytes: number,
  done: (reply: MetricsReply) => void,
  fail: (error: MonitorError) => void,
): void {
  const refuse = (detail: string): void => fail(new MonitorError('exporter_invalid', detail));
  // Attached before anything else: a connection that breaks emits `error` on the response.
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
  // After `end` this changes nothing; without it the body was cut.
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

/** Without a length or chunks the end of the connection ends the body, be it whole or cut (RFC 9112, 6.3). */
function isFramed({ headers }: IncomingMessage): boolean {
  if (headers['content-length'] !== undefined) return true;
  return /(?:^|,)\s*chunked\s*$/i.test(headers['transfer-encoding'] ?? '');
}

function marksItsEnd(contentType: string, body: Buffer): boolean {
  return isOpenMetrics(contentType) && body.subarray(-OPEN_METRICS_END.length).equals(OPEN_METRICS_END);
}
