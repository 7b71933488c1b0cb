/** Answers a user who cannot open the page: with a redirect to sign in, or with a page that says why not. */
import { createHash } from 'node:crypto';
import { type MonitorError, STATUS_OF } from '../errors.ts';
import type { Denial } from './authorize.ts';
import { escapeHtml } from './dashboard-html.ts';
import { addVary, type MonitorRequest, type MonitorResponse } from './exchange.ts';
import { isOver, sendEmpty, sendFresh, sendProblem, setProblemHeaders } from './send.ts';

const STYLE =
  'body{margin:18vh auto;max-width:30rem;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif}h1{font-size:1.25rem}';

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');

/** Answers with problem JSON, like a route, unless the client accepts HTML. @param title the page's title */
export function refusePage(
  request: MonitorRequest,
  response: MonitorResponse,
  { error, challenge, redirect }: Denial,
  title: string,
): void {
  if (isOver(response)) return;
  addVary(response, 'Accept');
  if (!acceptsHtml(request)) {
    sendProblem(request, response, error, challenge);
    return;
  }
  if (redirect !== null) {
    sendEmpty(response, 302, { Location: redirect });
    return;
  }
  setProblemHeaders(response, error, challenge);
  if (!response.hasHeader('Content-Security-Policy')) response.setHeader('Content-Security-Policy', POLICY);
  if (!response.hasHeader('Referrer-Policy')) response.setHeader('Referrer-Policy', 'same-origin');
  const body = Buffer.from(deniedHtml(title, error));
  sendFresh(request, response, STATUS_OF[error.code], 'text/html; charset=utf-8', body);
}

function textsOf({ code }: MonitorError): readonly [heading: string, advice: string] {
  if (code === 'unauthorized')
    return ['You are signed out', 'Sign in to the app, then load this page again.'];
  if (code === 'overloaded')
    return [
      'The monitor is not running',
      'The app has closed it. Load this page again when the app has restarted.',
    ];
  return [
    'You do not have access to this monitor',
    'The app denied you access. Ask its administrator for it, then load this page again.',
  ];
}

function deniedHtml(title: string, error: MonitorError): string {
  const [heading, advice] = textsOf(error);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${heading} · ${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${heading}</h1>
<p>${escapeHtml(error.message)}</p>
<p>${advice}</p>
</main>
</body>
</html>
`;
}

/** Whether `Accept` contains HTML explicitly: browsers send it, while a wildcard alone means JSON. */
function acceptsHtml({ headers: { accept } }: MonitorRequest): boolean {
  return (accept ?? '')
    .split(',')
    .some((item) => /^\s*text\/html\s*(?:;|$)/i.test(item) && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(item));
}
