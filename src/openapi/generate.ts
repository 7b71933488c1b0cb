/**
 * Writes `openapi.json` from the wire types and the route table. With `--check` it only reports whether the
 * committed file is up to date. A build tool, not part of the library.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ROUTES } from '../routes/index.ts';
import { pathsOf, responsesFor } from './paths.ts';
import { HEADERS } from './responses.ts';
import { wireSchemas } from './schemas.ts';

const FILE = fileURLToPath(new URL('openapi.json', import.meta.url));
const PACKAGE = fileURLToPath(new URL('../../package.json', import.meta.url));

/** The whole document as text. */
function openapi(): string {
  const { version, license } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as {
    version: string;
    license: string;
  };
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'express-task-monitor',
      version,
      license: { name: license, identifier: license },
      description: [
        'Read-only. HEAD is answered like GET, without the body.',
        'Every documented field is always present; `null` means "unknown", `[]` means "none".',
        'Times are ISO 8601 in UTC with milliseconds.',
        'Errors are `application/problem+json` with a stable `code`.',
      ].join('\n\n'),
    },
    servers: [{ url: '/monitor', description: 'The path at which the host mounts the router.' }],
    // The host decides whether and how clients authenticate.
    security: [],
    paths: pathsOf(ROUTES),
    components: { schemas: wireSchemas(), responses: responsesFor(ROUTES), headers: HEADERS },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function committed(): string | null {
  try {
    return readFileSync(FILE, 'utf8');
  } catch {
    return null;
  }
}

const text = openapi();
if (!process.argv.includes('--check')) {
  writeFileSync(FILE, text);
} else if (committed() !== text) {
  console.error('src/openapi/openapi.json is stale. Write it anew: npm run openapi');
  process.exitCode = 1;
}
