/** The page at the root of the mount and its files. Matched after the eleven routes. */

import type { TaskCapabilitiesBody } from '../wire.ts';
import { refusePage } from './dashboard-denied.ts';
import { packageFiles } from './dashboard-files.ts';
import { pageOf } from './dashboard-html.ts';
import { sendPackageFile, sendPage } from './dashboard-send.ts';
import type { MonitorRequest, MonitorResponse } from './exchange.ts';
import type { Monitor } from './monitor.ts';
import { splitTarget } from './path.ts';
import type { Target } from './targets.ts';

/** Matches requests for the page and its files. */
export interface Dashboard {
  /** @returns `null` for any other path: the request is passed to the host */
  find(request: MonitorRequest, url: string): Target | null;
}

/**
 * @param capabilities of the list of tasks; `null`: everything
 * @returns `null` when the host has disabled the page
 */
export function createDashboard(
  { options }: Monitor,
  capabilities: TaskCapabilitiesBody | null,
): Dashboard | null {
  const branding = options.dashboard;
  if (branding === null) return null;
  const files = packageFiles();
  const page = pageOf(branding, capabilities, files);

  function respondPage(request: MonitorRequest, response: MonitorResponse): Promise<void> {
    return sendPage(request, response, page);
  }

  return {
    find(request, url) {
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
    },
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
