/** Sends the page and its files. */
import type { PackageFiles } from './dashboard-files.ts';
import type { PageDocument } from './dashboard-html.ts';
import { acceptsGzip, addVary, type MonitorRequest, type MonitorResponse } from './exchange.ts';
import { isOver, matchesTag, sendEmpty } from './send.ts';

/** Sends the page. Browsers revalidate it each time, so that a new version is used immediately. */
export async function sendPage(
  request: MonitorRequest,
  response: MonitorResponse,
  page: PageDocument,
): Promise<void> {
  const { body, etag } = await page.read();
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

/** Sends a file whose name changes with its content, so that browsers can cache it permanently. */
export async function sendPackageFile(
  request: MonitorRequest,
  response: MonitorResponse,
  files: PackageFiles,
  name: string,
): Promise<void> {
  const file = await files.read(name);
  if (file === null) return sendEmpty(response, 404, {});
  if (isOver(response)) return;
  const { type, plain, packed } = file;
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
  response.setHeader('Content-Type', type);
  addVary(response, 'Accept-Encoding');
  // A compressing middleware of the host does not change encoded bodies.
  const takesGzip = acceptsGzip(request);
  if (takesGzip) response.setHeader('Content-Encoding', 'gzip');
  finish(request, response, takesGzip ? packed : plain);
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
