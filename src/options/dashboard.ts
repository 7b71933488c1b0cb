import { type KeysOf, MONITOR, refuseUnknownKeys } from '../check-options.ts';
import type { DashboardLink, DashboardOptions } from '../options.ts';
import { isWebLink } from '../text/web-link.ts';
import { isRecord } from '../values.ts';
import { wrong } from './wrong.ts';

/** {@link DashboardOptions}, checked, with every default filled in. */
export interface ResolvedDashboard {
  readonly title: string;
  readonly links: readonly DashboardLink[];
  readonly logo: string | null;
}

const DASHBOARD: KeysOf<DashboardOptions> = { title: true, links: true, logo: true };
const LINK: KeysOf<DashboardLink> = { text: true, url: true };

const LONGEST_TITLE = 100;
const MOST_LINKS = 20;
const EXPECTED_URL = "an http(s) URL or a path such as 'https://example.com/runbook' or '/admin'";

/** Checks the option `dashboard`. @returns `null` when the page is disabled */
export function readDashboard(value: unknown): ResolvedDashboard | null {
  if (value === false) return null;
  const given = value === undefined || value === true ? {} : value;
  if (!isRecord(given)) throw wrong('dashboard', "true, false or an object such as { title: 'Shop' }", value);
  refuseUnknownKeys(MONITOR, given, DASHBOARD, 'dashboard.');
  return Object.freeze({
    title: readText('dashboard.title', given.title ?? 'Task monitor'),
    links: readLinks(given.links ?? []),
    logo: given.logo === undefined ? null : readUrl('dashboard.logo', given.logo),
  });
}

function readText(option: string, value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '' || value.length > LONGEST_TITLE) {
    throw wrong(option, `a text of 1 to ${LONGEST_TITLE} characters`, value);
  }
  return value;
}

function readLinks(value: unknown): readonly DashboardLink[] {
  const expected = `an array of at most ${MOST_LINKS} links such as { text: 'Runbook', url: 'https://example.com' }`;
  if (!Array.isArray(value) || value.length > MOST_LINKS) throw wrong('dashboard.links', expected, value);
  return value.map((link: unknown, index) => {
    const option = `dashboard.links[${index}]`;
    if (!isRecord(link)) throw wrong(option, "an object such as { text: 'Admin', url: '/admin' }", link);
    refuseUnknownKeys(MONITOR, link, LINK, `${option}.`);
    return { text: readText(`${option}.text`, link.text), url: readUrl(`${option}.url`, link.url) };
  });
}

/** Returns the URL unchanged, so that a path also works behind a proxy that removes a prefix. */
function readUrl(option: string, value: unknown): string {
  if (!isWebLink(value)) throw wrong(option, EXPECTED_URL, value);
  return value;
}
