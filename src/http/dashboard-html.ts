import type { ResolvedDashboard } from '../options/dashboard.ts';
import type { TaskCapabilitiesBody } from '../wire.ts';
import type { PackageFiles } from './dashboard-files.ts';
import { type Document, tagOf } from './send.ts';

/** The page's HTML, built on the first request. */
export interface PageDocument {
  read(): Promise<Document>;
  /** `Content-Security-Policy`, sent unless the host has set its own. */
  readonly policy: string;
}

/** Builds the page's HTML for one host. It has no inline scripts or styles: the host's policy may forbid them. */
export function pageOf(
  branding: ResolvedDashboard,
  capabilities: TaskCapabilitiesBody | null,
  files: PackageFiles,
): PageDocument {
  let made: Document | null = null;

  async function make(): Promise<Document> {
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

  return {
    async read() {
      made ??= await make();
      return made;
    },
    policy: policyFor(branding),
  };
}

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
export function htmlHead(title: string): string {
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
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
