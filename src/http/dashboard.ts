/** The page at the root of the mount and its files. Matched after the eleven routes. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliDecompress, gzip } from 'node:zlib';
import { type MonitorError, STATUS_OF } from '../errors.ts';
import type { ResolvedDashboard } from '../options/resolve-options.ts';
import type { TaskCapabilitiesBody } from '../wire.ts';
import type { Denial } from './authorize.ts';
import {
  acceptedCoding,
  acceptsType,
  addVary,
  type Document,
  isOver,
  type MonitorRequest,
  type MonitorResponse,
  sendBody,
  sendEmpty,
  sendFresh,
  sendProblem,
  sendUnchanged,
  setCommon,
  setProblemHeaders,
  tagOf,
} from './exchange.ts';
import type { Monitor } from './monitor.ts';
import { splitTarget, type Target } from './route.ts';

/**
 * Creates the page of one router.
 *
 * @param capabilities of the list of tasks; `null`: everything
 * @returns finds the target of a request for the page or one of its files; `null` for any other path: the request is
 *   passed to the host. There is none when the host has disabled the page
 */
export function createDashboard(
  { options }: Monitor,
  capabilities: TaskCapabilitiesBody | null,
): ((request: MonitorRequest, url: string) => Target | null) | null {
  const branding = options.dashboard;
  if (branding === null) return null;
  const files = packageFiles();
  const policy = policyFor(branding);
  let page: Document | null = null;

  const respondPage = async (request: MonitorRequest, response: MonitorResponse): Promise<void> => {
    page ??= await makePage(branding, capabilities, files);
    sendPage(request, response, page, policy);
  };

  return function find(request, url) {
    // The page is not part of the API: other methods at its paths are passed to the host.
    if (request.method !== 'GET' && request.method !== 'HEAD') return null;
    const { path } = splitTarget(url);
    if (path === '/') {
      return {
        route: 'dashboard',
        canonical: slashed(request.originalUrl ?? request.url ?? url),
        respond: respondPage,
        refuse: (asking, response, denial) => refusePage(asking, response, denial, branding.title),
      };
    }
    const name = /^\/assets\/([\w.-]+)$/.exec(path)?.[1];
    if (name === undefined || !files.has(name)) return null;
    return {
      route: 'dashboard',
      canonical: null,
      respond: (asking, response) => sendPackageFile(asking, response, files, name),
    };
  };
}

/**
 * The redirect target when the slash after the mount path is missing; `null` when it is there. Without the
 * slash the browser would request the page's files one level too high. The target is relative, so that it is
 * also correct behind a proxy that removes a prefix.
 */
function slashed(originalUrl: string): string | null {
  const { path, search } = splitTarget(originalUrl);
  if (path.endsWith('/')) return null;
  const last = path.slice(path.lastIndexOf('/') + 1).replaceAll('\\', '%5C');
  return `./${last}/${search === '' ? '' : `?${search}`}`;
}

/** Sends the page. Browsers revalidate it each time, so that a new version is used immediately. */
function sendPage(
  request: MonitorRequest,
  response: MonitorResponse,
  { body, etag }: Document,
  policy: string,
): void {
  if (isOver(response)) return;
  setPolicies(response, policy);
  setCommon(response, 'no-cache');
  if (!sendUnchanged(request, response, etag)) sendBody(request, response, 200, HTML_TYPE, body);
}

/** Sends a file whose name changes with its content, so that browsers can cache it permanently. */
async function sendPackageFile(
  request: MonitorRequest,
  response: MonitorResponse,
  files: PackageFiles,
  name: string,
): Promise<void> {
  const file = await files.read(name);
  if (file === null) return sendEmpty(response, 404, {});
  if (isOver(response)) return;
  const { type, plain, packed } = file;
  setCommon(response, 'public, max-age=31536000, immutable');
  addVary(response, 'Accept-Encoding');
  // A compressing middleware of the host does not change encoded bodies.
  const coding = acceptedCoding(request, CODINGS);
  if (coding !== null) response.setHeader('Content-Encoding', coding);
  sendBody(request, response, 200, type, coding === null ? plain : packed[coding]);
}

/** Keeps the policies that the host has set. */
function setPolicies(response: MonitorResponse, contentPolicy: string): void {
  const policies = { 'Content-Security-Policy': contentPolicy, 'Referrer-Policy': 'same-origin' };
  for (const [name, policy] of Object.entries(policies)) {
    if (!response.hasHeader(name)) response.setHeader(name, policy);
  }
}

const HTML_TYPE = 'text/html; charset=utf-8';

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
function refusePage(
  request: MonitorRequest,
  response: MonitorResponse,
  { error, challenge, redirect }: Denial,
  title: string,
): void {
  if (isOver(response)) return;
  addVary(response, 'Accept');
  if (!acceptsType(request, 'text/html')) {
    sendProblem(request, response, error, challenge);
    return;
  }
  if (redirect !== undefined) {
    sendEmpty(response, 302, { Location: redirect });
    return;
  }
  setProblemHeaders(response, error, challenge);
  setPolicies(response, POLICY);
  const body = Buffer.from(deniedHtml(title, error));
  sendFresh(request, response, STATUS_OF[error.code], HTML_TYPE, body);
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
  return `${htmlHead(`${heading} · ${title}`)}<style>${STYLE}</style>
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

/** Builds the page's HTML for one host. It has no inline scripts or styles: the host's policy may forbid them. */
async function makePage(
  branding: ResolvedDashboard,
  capabilities: TaskCapabilitiesBody | null,
  files: PackageFiles,
): Promise<Document> {
  const { script, imports, style, icon } = await files.manifest();
  const preloads = imports.map((name) => `<link rel="modulepreload" href="./assets/${name}">\n`).join('');
  const able =
    capabilities === null ? '' : ` data-capabilities="${escapeHtml(JSON.stringify(capabilities))}"`;
  const html = `${htmlHead(branding.title)}<link rel="icon" href="./assets/${icon}" type="image/svg+xml">
<link rel="stylesheet" href="./assets/${style}">
${preloads}<script type="module" src="./assets/${script}"></script>
</head>
<body>
<div id="app" data-branding="${escapeHtml(JSON.stringify(branding))}"${able}>
<noscript><p>This page needs JavaScript. The same data is below <code>./api/tasks/</code> as JSON.</p></noscript>
<p class="boot">Loading ${escapeHtml(branding.title)} … If nothing follows, the page's files did not arrive: the address must
end in a slash, and on plain http the host must not send <code>upgrade-insecure-requests</code>.</p>
</div>
</body>
</html>
`;
  return { body: Buffer.from(html), etag: tagOf(html) };
}

/** The page's `Content-Security-Policy`, sent unless the host has set its own. */
function policyFor({ logo }: ResolvedDashboard): string {
  const foreign = logo !== null && /^https?:/i.test(logo) ? ` ${new URL(logo).origin}` : '';
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    `img-src 'self'${foreign}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; ');
}

/** The start of a page, up to what its head has of its own. */
function htmlHead(title: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes a text for HTML. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

type PackagePage = typeof import('#page');

/** One file. */
interface PackageFile {
  readonly type: string;
  readonly plain: Buffer;
  /** Compressed, by coding. */
  readonly packed: Readonly<Record<Coding, Buffer>>;
}

/** The best first. */
const CODINGS = ['br', 'gzip'] as const;
type Coding = (typeof CODINGS)[number];

/**
 * The files of the page. They are texts in a module: bundlers and tools that trace files find modules by themselves, but
 * not files that are read at run time.
 */
type PackageFiles = ReturnType<typeof createPackageFiles>;

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
};

/** How the build names files. */
const NAME = /^(?:[a-z]+(?:-[a-z]+)*-[A-Z0-9]{8}\.(?:js|css|svg)|licenses\.txt)$/;

const pack = promisify(gzip);
const unpack = promisify(brotliDecompress);

let shared: PackageFiles | null = null;

/** The files, which all monitors of the process share. */
function packageFiles(): PackageFiles {
  shared ??= createPackageFiles();
  return shared;
}

function createPackageFiles() {
  let page: PackagePage | null = null;
  const kept = new Map<string, Promise<PackageFile>>();

  async function load(): Promise<PackagePage> {
    page ??= await import('#page');
    return page;
  }
  // Before the first request: on Node 20, an import that fails for lack of file descriptors can never succeed later.
  load().catch(() => {
    // The request for the page reports the error.
  });

  async function make(name: string, text: string): Promise<PackageFile> {
    const br = Buffer.from(text, 'base64');
    const plain = await unpack(br);
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
    return { type, plain, packed: { br, gzip: await pack(plain, { level: 9 }) } };
  }

  return {
    manifest: async () => (await load()).manifest,
    /** Whether it is a file of the page; before the module is loaded, whether it could be one. */
    has: (name: string): boolean => (page === null ? NAME.test(name) : Object.hasOwn(page.files, name)),
    /** @returns `null` if there is no such file */
    async read(name: string): Promise<PackageFile | null> {
      const { files } = await load();
      const text = Object.hasOwn(files, name) ? files[name] : undefined;
      if (text === undefined) return null;
      const file = kept.get(name) ?? make(name, text);
      kept.set(name, file);
      file.catch(() => kept.delete(name));
      return file;
    },
  };
}
