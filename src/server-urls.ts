/** URLs of servers, with the schemes that kombu accepts (kombu/utils/url.py). */

/** The decoded parts of a URL. */
export interface UrlParts {
  readonly host: string;
  readonly port: number | null;
  readonly path: string;
  readonly username: string | null;
  readonly password: string | null;
  readonly query: URLSearchParams;
}

/** The scheme with its colon, in lower case; empty if the text has none. */
export function schemeOf(url: string): string {
  return /^[a-z][a-z0-9+.-]*:/i.exec(url.trim())?.[0].toLowerCase() ?? '';
}

/**
 * Splits a URL into its parts.
 *
 * @param example a valid URL, for error messages
 * @param isWhole whether a URL has all required parts
 * @throws TypeError that says what to write
 */
export function splitUrl(
  url: string,
  option: string,
  example: string,
  isWhole: (parsed: URL) => boolean = () => true,
): UrlParts {
  // Node parses user, host and port only for schemes whose syntax it knows, such as redis:.
  const known = url.replace(/^[a-z][a-z0-9+.-]*:(\/\/)?/i, 'redis://');
  // In Celery, an empty host means localhost. The URL of a socket has no host.
  const named = known.replace(/^redis:\/\/((?:[^/?#]*@)?)(?=[:/?#]|$)(?![^/?#]*@)/, 'redis://$1localhost');
  const parsed = URL.canParse(named) ? new URL(named) : null;
  if (parsed === null || !isWhole(parsed)) {
    throw new TypeError(
      `celerySources: '${option}' is not a valid URL. Write a URL such as ${example}, ` +
        'with characters such as @ / # in a password percent-encoded.',
    );
  }
  return {
    host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: parsed.port === '' ? null : Number(parsed.port),
    path: decode(parsed.pathname, option),
    username: decode(parsed.username, option) || null,
    password: decode(parsed.password, option) || null,
    query: parsed.searchParams,
  };
}

function decode(text: string, option: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new TypeError(`celerySources: '${option}' has a % that is not followed by two hexadecimal digits.`);
  }
}

/** Formats host and port for a URL, with brackets around IPv6 addresses. */
export function hostAndPort({ host, port }: { host: string; port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
