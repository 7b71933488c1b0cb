/** Sends the page and its files. */

import { MonitorError } from '../errors.ts';
import { isExhausted, type PackageFiles } from './dashboard-files.ts';
import type { PageDocument } from './dashboard-html.ts';
import { acceptsGzip, addVary, type MonitorRequest, type MonitorResponse } from './exchange.ts';
import { isOver, matchesTag } from './send.ts';

/** Sends the page. Browsers revalidate it each time, so that a new version shows at once. */
export async function sendPage(
  request: MonitorRequest,
  response: MonitorResponse,
  page: PageDocument,
): Promise<void> {
  const { body, etag } = await unlessExhausted(() => page.read());
  if (isOver(response)) return;
  setIfAbsent(response, 'Content-Security-Policy', page.policy);
  setIfAbsent(response, 'Referrer-Policy', 'same-origin');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'no-cache');
  response.setHeader('ETag', etag);
  const known = request.headers['if-none-match'];
  if (known !== undefined && matchesTag(known, etag)) {
    response.removeHeader('Content-Type');
    response.statusCode = 304;
    response.end();
    return;
  }
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  finish(request, response, body);
}

/** Sends a file whose name changes with its content, so that browsers can cache it for ever. */
export async function sendPackageFile(
  request: MonitorRequest,
  response: MonitorResponse,
  files: PackageFiles,
  name: string,
): Promise<void> {
  const { type, plain, packed } = await unlessExhausted(() => files.read(name));
  if (isOver(response)) return;
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
  response.setHeader('Content-Type', type);
  addVary(response, 'Accept-Encoding');
  // A compressing middleware of the host leaves encoded bodies alone.
  const takesGzip = acceptsGzip(request);
  if (takesGzip) response.setHeader('Content-Encoding', 'gzip');
  finish(request, response, takesGzip ? packed : plain);
}

/** Answers with `overloaded` while the process is out of file descriptors or memory. */
async function unlessExhausted<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isExhausted(error)) throw error;
    throw new MonitorError('overloaded', 'The process has no file descriptor or memory left for now.');
  }
}

function finish(request: MonitorRequest, response: MonitorResponse, body: Buffer): void {
  response.statusCode = 200;
  response.setHeader('Content-Length', body.length);
  if (request.method === 'HEAD') response.end();
  else response.end(body);
}

function setIfAbsent(response: MonitorResponse, name: string, value: string): void {
  if (!response.hasHeader(name)) response.setHeader(name, value);
}
