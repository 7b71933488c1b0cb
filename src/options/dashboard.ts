/** The option `dashboard`. */
import {
  checked,
  type OptionPlace,
  type OptionsOf,
  type OptionTable,
  optionalGroup,
  type Read,
  readOptions,
  text,
  wrongOption,
} from '../check-options.ts';
import type { DashboardLink, DashboardOptions } from '../options.ts';
import { isWebLink } from '../text/web-link.ts';

/** {@link DashboardOptions}, checked, with every default filled in. */
export type ResolvedDashboard = OptionsOf<typeof TABLE>;

const LONGEST_TITLE = 100;
const MOST_LINKS = 20;
/** A URL stays as it is, so that a path also works behind a proxy that removes a prefix. */
const URL_EXPECTED = "an http(s) URL or a path such as 'https://example.com/runbook' or '/admin'";

/** Required if there is no fallback. */
function label<Default = never>(fallback?: Default): Read<string | Default> {
  const isRight = (given: string): boolean => given.trim() !== '' && given.length <= LONGEST_TITLE;
  return text(isRight, `a text of 1 to ${LONGEST_TITLE} characters`, fallback);
}

const LINK = {
  text: label<never>(),
  url: checked<string, never>(isWebLink, URL_EXPECTED),
} satisfies OptionTable<DashboardLink>;

const TABLE = {
  title: label('Task monitor'),
  links: readLinks,
  logo: checked(isWebLink, URL_EXPECTED, null),
} satisfies OptionTable<DashboardOptions>;

/** The option `dashboard`; `null`: the page is disabled. */
export const readDashboard = optionalGroup(TABLE, { example: "{ title: 'Shop' }" }, true);

function readLinks(given: unknown, { caller, option }: OptionPlace): readonly DashboardLink[] {
  if (given === undefined) return [];
  if (!Array.isArray(given) || given.length > MOST_LINKS) {
    const expected = `an array of at most ${MOST_LINKS} links such as { text: 'Runbook', url: 'https://example.com' }`;
    throw wrongOption(caller, option, expected, given);
  }
  const example = "{ text: 'Admin', url: '/admin' }";
  return given.map((link: unknown, index) =>
    readOptions(caller, link, LINK, { example, group: `${option}[${index}]` }),
  );
}
