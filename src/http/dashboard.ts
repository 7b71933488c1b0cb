/** The page at the mount's root and the files that it loads. Asked for after the eleven routes. */

import { createPackageFiles } from './dashboard-files.ts';
import { pageOf } from './dashboard-html.ts';
import { sendPackageFile, sendPage } from './dashboard-send.ts';
import type { MonitorRequest, MonitorResponse } from './exchange.ts';
import type { Monitor } from './monitor.ts';
import { splitTarget } from './path.ts';
import type { Target } from './targets.ts';

/** Finds requests for the page. */
export interface Dashboard {
  /** @returns `null` for what is none of its files: the host goes on with it */
  find(request: MonitorRequest): Target | null;
}

/** @returns `null` when the host wants no page */
export function createDashboard({ options }: Monitor): Dashboard | null {
  const branding = options.dashboard;
  if (branding === null) return null;
  const files = createPackageFiles();
  const page = pageOf(branding, files);

  function respondPage(request: MonitorRequest, response: MonitorResponse): Promise<void> {
    return sendPage(request, response, page);
  }

  return {
    find(request) {
      // Other methods at its paths are the host's: the page is no part of the API.
      if (request.method !== 'GET' && request.method !== 'HEAD') return null;
      const { path } = splitTarget(request.url ?? '/');
      if (path === '/') {
        return {
          route: 'dashboard',
          canonical: slashed(request.originalUrl ?? request.url ?? '/'),
          respond: respondPage,
        };
      }
      const name = /^\/assets\/([\w.-]+)$/.exec(path)?.[1];
      if (name === undefined || !files.has(name)) return null;
      return {
        route: 'dashboard',
        canonical: null,
        respond: (asking, response) => sendPackageFile(asking, response, files, name),
      };
    },
  };
}

/**
 * Where the mount is with a slash at its end, without which the browser would look for the page's files one
 * level too high; `null` when the slash is there. Relative to what was asked for: right behind a proxy that
 * strips a prefix.
 */
function slashed(originalUrl: string): string | null {
  const { path, search } = splitTarget(originalUrl);
  if (path.endsWith('/')) return null;
  const last = path.slice(path.lastIndexOf('/') + 1).replaceAll('\\', '%5C');
  return `./${last}/${search === '' ? '' : `?${search}`}`;
}
